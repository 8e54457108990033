package decide

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/view"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// TestADiaryKeepsNoWorldsThatAreGone lets twenty decisions about 5,000 nodes follow one another. Where no node has changed
// between them they are all about the same pictures; where all have, each keeps a whole cluster in memory.
func TestADiaryKeepsNoWorldsThatAreGone(t *testing.T) {
	const nodes = 5000
	names := make([]growth.NodeName, nodes)
	for i := range names {
		names[i] = growth.NodeName(fmt.Sprint("n", i))
	}
	picture := func(name growth.NodeName) *view.Node { return &view.Node{Node: placement.Node{Name: name}} }
	for changed, kept := range map[int]int{0: 20, 10: 20, nodes: 4} {
		d, roll := &Diary{}, view.Roll{}.With(slices.Values(names), picture)
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
	roll := view.Roll{}.With(slices.Values([]growth.NodeName{"a", "b", "c", "d"}), func(name growth.NodeName) *view.Node {
		return &view.Node{Node: placement.Node{Name: name}}
	})
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
