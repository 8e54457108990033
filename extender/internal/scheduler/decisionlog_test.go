package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/fastpath"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

type nodeIndex = fastpath.Index[growth.NodeName, cache.NodeInfo]

// nodeNames returns the names of a number of nodes.
func nodeNames(count int) []growth.NodeName {
	names := make([]growth.NodeName, count)
	for i := range names {
		names[i] = growth.NodeName(fmt.Sprint("n", i))
	}
	return names
}

// newVersion returns a new version of a node.
func newVersion(name growth.NodeName) *cache.NodeInfo {
	return &cache.NodeInfo{Node: placement.Node{Name: name}}
}

func selectNodes(index nodeIndex, names []growth.NodeName) selection {
	nodes := index.Select()
	for _, name := range names {
		nodes.Append(name, index.Get(name))
	}
	return nodes
}

// TestDecisionLog_BoundsOldVersions logs twenty decisions about 5,000 nodes. If no node changes between them, they share
// all versions. If all nodes change, each decision keeps a whole cluster in memory.
func TestDecisionLog_BoundsOldVersions(t *testing.T) {
	const nodes = 5000
	names := nodeNames(nodes)
	for changed, kept := range map[int]int{0: 20, 10: 20, nodes: 4} {
		l, index := &DecisionLog{}, nodeIndex{}.With(slices.Values(names), newVersion)
		for i := range 20 {
			index = index.With(slices.Values(names[:changed]), newVersion)
			pod := request.Pod{Ref: growth.PodRef{UID: growth.PodUID(fmt.Sprint(i))}}
			l.filtered(&evaluator{pod: pod}, selectNodes(index, names))
			l.bound(pod.Ref.UID, bindResult{node: "n"})
		}
		require.Len(t, l.entries, kept, "%d nodes changed between two decisions", changed)
		require.Equal(t, growth.PodUID("19"), l.entries[kept-1].pod.Ref.UID, "the latest decision is always kept")
	}
}

// TestDecisionLog_MatchesReference compares the incremental sums with a count of all entries.
func TestDecisionLog_MatchesReference(t *testing.T) {
	const nodes = 2000
	names := nodeNames(nodes)
	many := slices.Concat(slices.Repeat([][]growth.NodeName{names}, 30)...)
	random := rand.New(rand.NewPCG(1, 0))
	l, index, dropped := &DecisionLog{}, nodeIndex{}.With(slices.Values(names), newVersion), 0
	var reference []*decision
	for range 400 {
		index = index.With(slices.Values(names[:random.IntN(1+random.IntN(nodes))]), newVersion)
		next := &decision{
			pod:      request.Pod{Ref: growth.PodRef{UID: growth.PodUID(fmt.Sprint(random.IntN(40)))}},
			filtered: selectNodes(index, many[:random.IntN(len(many))]),
		}
		l.put(next)
		reference = append(slices.DeleteFunc(reference, func(d *decision) bool { return d.pod.Ref.UID == next.pod.Ref.UID }), next)
		before := len(reference)
		reference = reference[before-countWithinBounds(reference):]
		dropped += before - len(reference)
		kept := make([]*decision, len(l.entries))
		for i, e := range l.entries {
			kept[i] = e.decision
			require.Same(t, e.decision, l.of(e.pod.Ref.UID))
		}
		require.True(t, slices.Equal(reference, kept))
		require.Len(t, l.byPod, len(kept))
	}
	require.Greater(t, dropped, 100)
}

// countWithinBounds returns how many of the latest decisions are within the bounds.
func countWithinBounds(decisions []*decision) int {
	old, considered := 0, 0
	for i, d := range slices.Backward(decisions) {
		considered += d.considered()
		if i+1 < len(decisions) {
			made, later := d.versions(), decisions[i+1].versions()
			nodes := d.filtered.Index().Len() + d.prioritized.Index().Len()
			old += int(min(uint64(nodes), max(made, later)-min(made, later)))
		}
		n := len(decisions) - i
		if n > 1 && (n > maxDecisions || considered > maxConsidered || old > maxOldVersions) {
			return n - 1
		}
	}
	return len(decisions)
}
