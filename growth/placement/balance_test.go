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

func TestNode_WithRejectsOverCommitment(t *testing.T) {
	n := node(gpu("GPU-a", 20*gib), gpu("GPU-b", 30*gib))
	for name, tc := range map[string]struct {
		shares []growth.GPUShare
		want   string
	}{
		"the share just fits":                  {[]growth.GPUShare{{GPU: "GPU-a", Memory: 4 * gib}}, ""},
		"no shares":                            {nil, ""},
		"one MiB too much":                     {[]growth.GPUShare{{GPU: "GPU-a", Memory: 4*gib + 1}}, "20GiB of 24GiB used on GPU-a, 4097MiB more asked"},
		"two shares of one GPU":                {[]growth.GPUShare{{GPU: "GPU-a", Memory: 3 * gib}, {GPU: "GPU-a", Memory: 3 * gib}}, "23GiB of 24GiB used on GPU-a"},
		"a negative share":                     {[]growth.GPUShare{{GPU: "GPU-a", Memory: -1}}, "-1MiB more asked"},
		"a share that would overflow":          {[]growth.GPUShare{{GPU: "GPU-a", Memory: math.MaxInt64}}, "more asked"},
		"a GPU that is over-committed already": {[]growth.GPUShare{{GPU: "GPU-b", Memory: 1}}, "30GiB of 24GiB used on GPU-b"},
		"an unknown GPU":                       {[]growth.GPUShare{{GPU: "GPU-x", Memory: 1}}, `no GPU "GPU-x"`},
	} {
		t.Run(name, func(t *testing.T) {
			held, err := n.With("newcomer", tc.shares)
			if tc.want == "" {
				require.NoError(t, err)
				require.Equal(t, n, held.Without("newcomer"), "Without undoes With")
				return
			}
			require.ErrorIs(t, err, placement.ErrOverCommitted)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// The test adds and removes pods at random. A change is accepted exactly if a separate sum says that it fits, and 0 ≤
// used ≤ total holds after it.
func TestNode_WithAndWithoutKeepTheBalance(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	n, held := node(gpu("GPU-a"), gpu("GPU-b")), map[growth.PodUID]growth.GPUShare{}
	for range 20_000 {
		pod := growth.PodUID(rune('a' + rng.IntN(20)))
		n = n.Without(pod)
		delete(held, pod)
		share := growth.GPUShare{
			GPU:    []growth.GPU{"GPU-a", "GPU-b"}[rng.IntN(2)],
			Memory: growth.MiB(rng.IntN(9)) * gib,
		}
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

func TestFindDrift(t *testing.T) {
	on := func(g growth.GPU, memory growth.MiB) []growth.GPUShare {
		return []growth.GPUShare{{GPU: g, Memory: memory}}
	}
	allocated := func(shares []growth.GPUShare) map[growth.PodUID]bus.Allocation {
		return map[growth.PodUID]bus.Allocation{"p": {Containers: []bus.ContainerAllocation{{Name: "c", GPUs: shares}}}}
	}
	reserved := func(pod growth.PodUID, shares []growth.GPUShare) map[growth.PodUID]bus.Reservation {
		return map[growth.PodUID]bus.Reservation{pod: {
			GPUs:       shares,
			Containers: []bus.ContainerRequest{{Name: "c", Units: 8}},
		}}
	}
	bound := map[growth.PodUID]placement.BoundPod{"p": {GPUs: []growth.GPU{"GPU-a"}, Request: asks(8*gib, 1, 8)}}
	for name, tc := range map[string]struct {
		records placement.Records
		want    placement.Drift
	}{
		"no records":                                                {},
		"kubelet follows the reservation":                           {placement.Records{Allocations: allocated(on("GPU-a", gib)), Reservations: reserved("p", on("GPU-a", gib)), Bound: bound}, placement.Drift{}},
		"kubelet has not allocated yet":                             {placement.Records{Reservations: reserved("p", on("GPU-a", gib)), Bound: bound}, placement.Drift{}},
		"kubelet allocated another GPU":                             {placement.Records{Allocations: allocated(on("GPU-b", gib)), Reservations: reserved("p", on("GPU-a", gib))}, placement.Drift{Misplaced: []growth.PodUID{"p"}}},
		"kubelet allocated another GPU and the reservation is gone": {placement.Records{Allocations: allocated(on("GPU-b", gib)), Bound: bound}, placement.Drift{}},
		"a bound pod without a reservation":                         {placement.Records{Bound: bound}, placement.Drift{Unreserved: []growth.PodUID{"p"}}},
		"an over-committed GPU": {
			placement.Records{
				Allocations:  allocated(on("GPU-a", 20*gib)),
				Reservations: reserved("q", on("GPU-a", 8*gib)),
			},
			placement.Drift{OverCommitted: []growth.GPU{"GPU-a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.records.Inventory = bus.NodeGPUs{
				Unit: gib,
				GPUs: []bus.GPU{{UUID: "GPU-a", Memory: 24 * gib}, {UUID: "GPU-b", Memory: 24 * gib}},
			}
			d := placement.FindDrift(placement.NewNode("n", tc.records), tc.records)
			require.Equal(t, tc.want, d)
			require.Equal(t,
				name == "no records" || len(d.Misplaced)+len(d.Unreserved)+len(d.OverCommitted) == 0, d.Empty())
		})
	}
}
