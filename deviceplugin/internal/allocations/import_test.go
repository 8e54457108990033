package allocations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestImports(t *testing.T) {
	old := imported("p", "X-_-0", "X-_-1")
	ours := recorded("p", "A/0")
	known := map[growth.PodUID]bus.Allocation{"uid-p": old}
	listed := []kubelet.Holding{holds("p", "X-_-0", "X-_-1")}
	for name, tc := range map[string]struct {
		books allocations.Books
		want  map[growth.PodUID]bus.Allocation
	}{
		"kubelet lists it": {
			books: allocations.Books{
				Holdings:  listed,
				Pods:      []allocations.Pod{pod("p", numbered(1))},
				PodsKnown: true,
			},
			want: known,
		},
		"on the only GPU, without a number": {
			books: allocations.Books{
				Holdings:  listed,
				Pods:      []allocations.Pod{pod("p")},
				PodsKnown: true,
				GPUs:      []growth.GPU{"A"},
			},
			want: known,
		},
		"on one of two, without a number": {books: allocations.Books{
			Holdings:  listed,
			Pods:      []allocations.Pod{pod("p")},
			PodsKnown: true,
		}},
		"a kubelet that has just started lists nobody; the bus knows": {
			books: allocations.Books{
				Pods:      []allocations.Pod{pod("p", numbered(1))},
				PodsKnown: true,
				Recorded:  known,
			},
			want: known,
		},
		"the bus is away as well": {books: allocations.Books{Imported: known}, want: known},
		"its pod is gone":         {books: allocations.Books{PodsKnown: true, Imported: known, Recorded: known}},
		"its pod has ended": {books: allocations.Books{
			Pods:      []allocations.Pod{pod("p", finished)},
			PodsKnown: true,
			Imported:  known,
		}},
		"a pod of ours is no import": {books: allocations.Books{
			Pods:      []allocations.Pod{pod("p")},
			PodsKnown: true,
			Recorded:  map[growth.PodUID]bus.Allocation{"uid-p": ours},
		}},
		"what kubelet lists now is what it holds": {
			books: allocations.Books{
				Holdings:  []kubelet.Holding{holds("p", "A/0")},
				Pods:      []allocations.Pod{pod("p")},
				PodsKnown: true,
				Imported:  known,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.books.Unit = growth.GiB
			if tc.books.GPUs == nil {
				tc.books.GPUs = []growth.GPU{"B", "A"}
			}
			if tc.want == nil {
				tc.want = map[growth.PodUID]bus.Allocation{}
			}
			require.Equal(t, tc.want, allocations.Balance(tc.books).Imported)
		})
	}
}

func TestAPodThatCanNotBeCountedAsksForNothingMore(t *testing.T) {
	c := allocations.Balance(allocations.Books{
		Holdings:  []kubelet.Holding{holds("p", "X-_-0")},
		Pods:      []allocations.Pod{pod("p")},
		PodsKnown: true,
		Unit:      growth.GiB,
		GPUs:      []growth.GPU{"A", "B"},
	})
	require.ErrorContains(t, c.Pending["ns/p"], "ALIYUN_COM_GPU_MEM_IDX names none of this node's GPUs")
	require.Contains(t, c.Settled, slice.Key{Pod: "uid-p", Container: "main"})
}
