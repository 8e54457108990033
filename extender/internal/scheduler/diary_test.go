package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// many are the names of so many nodes, and picture makes a new picture of one.
func many(nodes int) []growth.NodeName {
	names := make([]growth.NodeName, nodes)
	for i := range names {
		names[i] = growth.NodeName(fmt.Sprint("n", i))
	}
	return names
}

func picture(name growth.NodeName) *cache.Node {
	return &cache.Node{Node: placement.Node{Name: name}}
}

// TestADiaryKeepsNoWorldsThatAreGone lets twenty decisions about 5,000 nodes follow one another. Where no node has changed
// between them they are all about the same pictures; where all have, each keeps a whole cluster in memory.
func TestADiaryKeepsNoWorldsThatAreGone(t *testing.T) {
	const nodes = 5000
	names := many(nodes)
	for changed, kept := range map[int]int{0: 20, 10: 20, nodes: 4} {
		d, roll := &Diary{}, cache.Roll{}.With(slices.Values(names), picture)
		for i := range 20 {
			roll = roll.With(slices.Values(names[:changed]), picture)
			pod, on := request.Pod{Ref: growth.PodRef{UID: growth.PodUID(fmt.Sprint(i))}}, sites{roll: roll}
			for _, name := range names {
				on.add(string(name), roll.Seat(name))
			}
			d.filtered(pod, on)
			d.ended(pod.Ref, "n", nil, nil)
		}
		require.Len(t, d.pages, kept, "%d nodes changed between two decisions", changed)
		require.Equal(t, growth.PodUID("19"), d.pages[kept-1].pod.Ref.UID, "the last decision is always kept")
	}
}

func TestSitesAreNotedAsTheyWereAskedAbout(t *testing.T) {
	roll := cache.Roll{}.With(slices.Values([]growth.NodeName{"a", "b", "c", "d"}), picture)
	for _, asked := range [][]string{{}, {"a", "b", "c", "d"}, {"a", "c"}, {"b"}, {"x", "a"}, {"a", "b", "x", "d"}, {"d", "c", "b", "a"}, {"a", "a"}} {
		on := sites{roll: roll}
		for _, name := range asked {
			on.add(name, roll.Seat(growth.NodeName(name)))
		}
		require.Len(t, on.nodes(), len(asked))
		for i, name := range asked {
			require.Equal(t, name, on.name(i))
			if name == "x" {
				require.Nil(t, on.node(i))
			} else {
				require.Equal(t, growth.NodeName(name), on.node(i).Name)
			}
		}
	}
}

// TestADiaryCountsAsItsDumbTwin compares sums that are kept up with a look at all pages.
func TestADiaryCountsAsItsDumbTwin(t *testing.T) {
	const nodes = 2000
	names := many(nodes)
	dice := rand.New(rand.NewPCG(1, 0))
	d, roll, dropped := &Diary{}, cache.Roll{}.With(slices.Values(names), picture), 0
	var twin []*page
	for range 400 {
		roll = roll.With(slices.Values(names[:dice.IntN(1+dice.IntN(nodes))]), picture)
		next := &page{pod: request.Pod{Ref: growth.PodRef{UID: growth.PodUID(fmt.Sprint(dice.IntN(40)))}}, filtered: sites{roll: roll, count: dice.IntN(60_000)}}
		d.write(next)
		twin = append(slices.DeleteFunc(twin, func(p *page) bool { return p.pod.Ref.UID == next.pod.Ref.UID }), next)
		before := len(twin)
		twin = twin[before-bounded(twin):]
		dropped += before - len(twin)
		kept := make([]*page, len(d.pages))
		for i, e := range d.pages {
			kept[i] = e.page
			require.Same(t, e.page, d.of(e.pod.Ref.UID))
		}
		require.True(t, slices.Equal(twin, kept))
		require.Len(t, d.byPod, len(kept))
	}
	require.Greater(t, dropped, 100)
}

// bounded is how many of the newest pages are within the bounds.
func bounded(pages []*page) int {
	old, sites := 0, 0
	for i, p := range slices.Backward(pages) {
		sites += p.sites()
		if i+1 < len(pages) {
			made, since := p.pictures(), pages[i+1].pictures()
			old += int(min(uint64(p.filtered.roll.Len()+p.prioritized.roll.Len()), max(made, since)-min(made, since)))
		}
		if n := len(pages) - i; n > 1 && (n > maxDecisions || sites > maxSites || old > maxOld) {
			return n - 1
		}
	}
	return len(pages)
}
