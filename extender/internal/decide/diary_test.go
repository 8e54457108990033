package decide

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/view"
	"github.com/trellis-gpu/trellis/growth"
)

// TestADiaryKeepsNoWorldsThatAreGone lets twenty decisions about 5,000 nodes follow one another. Where no node has changed
// between them they are all about the same pictures; where all have, each keeps a whole cluster in memory.
func TestADiaryKeepsNoWorldsThatAreGone(t *testing.T) {
	nodes := slices.Repeat([]*view.Node{{}}, 5000)
	for changed, kept := range map[uint64]int{0: 20, 10: 20, 5000: 4, 1 << 30: 4} {
		d := &Diary{}
		for i := range uint64(20) {
			pod := request.Pod{Ref: growth.PodRef{UID: growth.PodUID(fmt.Sprint(i))}}
			d.filtered(pod, i*changed, nil, nodes)
			d.ended(pod.Ref, "n", nil, nil)
		}
		require.Len(t, d.pages, kept, "%d nodes changed between two decisions", changed)
		require.Equal(t, growth.PodUID("19"), d.pages[kept-1].pod.Ref.UID, "the last decision is always kept")
	}
}
