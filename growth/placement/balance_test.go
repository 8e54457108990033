package placement_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

func TestHoldRefusesWhatWouldNotBalance(t *testing.T) {
	n := node(gpu("GPU-a", 20*gib), gpu("GPU-b", 30*gib))
	for name, tc := range map[string]struct {
		shares []growth.GPUShare
		says   string
	}{
		"just fits":                    {[]growth.GPUShare{{GPU: "GPU-a", Memory: 4 * gib}}, ""},
		"nothing":                      {nil, ""},
		"a MiB too much":               {[]growth.GPUShare{{GPU: "GPU-a", Memory: 4*gib + 1}}, "20GiB of 24GiB used on GPU-a, 4097MiB more asked"},
		"twice on one GPU":             {[]growth.GPUShare{{GPU: "GPU-a", Memory: 3 * gib}, {GPU: "GPU-a", Memory: 3 * gib}}, "23GiB of 24GiB used on GPU-a"},
		"less than nothing":            {[]growth.GPUShare{{GPU: "GPU-a", Memory: -1}}, "-1MiB more asked"},
		"so much that sums overflow":   {[]growth.GPUShare{{GPU: "GPU-a", Memory: math.MaxInt64}}, "more asked"},
		"on a GPU that has too little": {[]growth.GPUShare{{GPU: "GPU-b", Memory: 1}}, "30GiB of 24GiB used on GPU-b"},
		"on a GPU that is not there":   {[]growth.GPUShare{{GPU: "GPU-x", Memory: 1}}, `no GPU "GPU-x"`},
	} {
		t.Run(name, func(t *testing.T) {
			held, err := n.With("newcomer", tc.shares)
			if tc.says == "" {
				require.NoError(t, err)
				require.Equal(t, n, held.Without("newcomer"), "Hold and Without undo one another")
				return
			}
			require.ErrorIs(t, err, placement.ErrOverCommitted)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// TestTransitionsKeepTheBalance holds and gives back at random: whatever is accepted leaves 0 ≤ used ≤ total, and is
// accepted exactly where a sum by hand says that it fits.
func TestTransitionsKeepTheBalance(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	n, held := node(gpu("GPU-a"), gpu("GPU-b")), map[growth.PodUID]growth.GPUShare{}
	for range 20_000 {
		pod := growth.PodUID(rune('a' + dice.IntN(20)))
		n = n.Without(pod)
		delete(held, pod)
		share := growth.GPUShare{GPU: []growth.GPU{"GPU-a", "GPU-b"}[dice.IntN(2)], Memory: growth.MiB(dice.IntN(9)) * gib}
		sum := share.Memory
		for _, other := range held {
			if other.GPU == share.GPU {
				sum += other.Memory
			}
		}
		next, err := n.With(pod, []growth.GPUShare{share})
		require.Equal(t, sum <= 24*gib, err == nil)
		if err == nil {
			n, held[pod] = next, share
		}
		for _, g := range n.GPUs {
			require.GreaterOrEqual(t, g.Used(), growth.MiB(0))
			require.GreaterOrEqual(t, g.Free(), growth.MiB(0))
		}
	}
}

func TestDriftIsFound(t *testing.T) {
	on := func(g growth.GPU, memory growth.MiB) []growth.GPUShare {
		return []growth.GPUShare{{GPU: g, Memory: memory}}
	}
	allocated := func(shares []growth.GPUShare) map[growth.PodUID]bus.Allocation {
		return map[growth.PodUID]bus.Allocation{"p": {Containers: []bus.ContainerAllocation{{Name: "c", GPUs: shares}}}}
	}
	reserved := func(pod growth.PodUID, shares []growth.GPUShare) map[growth.PodUID]bus.Reservation {
		return map[growth.PodUID]bus.Reservation{pod: {GPUs: shares, Containers: []bus.ContainerRequest{{Name: "c", Units: 8}}}}
	}
	bound := map[growth.PodUID]placement.BoundPod{"p": {GPUs: []growth.GPU{"GPU-a"}, Request: asks(8*gib, 1, 8)}}
	for name, tc := range map[string]struct {
		records placement.Records
		want    placement.Drift
	}{
		"nothing":                     {},
		"a plan that kubelet follows": {placement.Records{Allocations: allocated(on("GPU-a", gib)), Reservations: reserved("p", on("GPU-a", gib)), Bound: bound}, placement.Drift{}},
		"a plan that waits":           {placement.Records{Reservations: reserved("p", on("GPU-a", gib)), Bound: bound}, placement.Drift{}},
		"a stray":                     {placement.Records{Allocations: allocated(on("GPU-b", gib)), Reservations: reserved("p", on("GPU-a", gib))}, placement.Drift{Misplaced: []growth.PodUID{"p"}}},
		"a stray that has served":     {placement.Records{Allocations: allocated(on("GPU-b", gib)), Bound: bound}, placement.Drift{}},
		"bound without a reservation": {placement.Records{Bound: bound}, placement.Drift{Unreserved: []growth.PodUID{"p"}}},
		"two on one GPU": {
			placement.Records{Allocations: allocated(on("GPU-a", 20*gib)), Reservations: reserved("q", on("GPU-a", 8*gib))},
			placement.Drift{OverCommitted: []growth.GPU{"GPU-a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.records.Inventory = bus.NodeGPUs{Unit: gib, GPUs: []bus.GPU{{UUID: "GPU-a", Memory: 24 * gib}, {UUID: "GPU-b", Memory: 24 * gib}}}
			d := placement.FindDrift(placement.NewNode("n", tc.records), tc.records)
			require.Equal(t, tc.want, d)
			require.Equal(t, name == "nothing" || len(d.Misplaced)+len(d.Unreserved)+len(d.OverCommitted) == 0, d.Empty())
		})
	}
}
