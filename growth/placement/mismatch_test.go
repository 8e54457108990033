package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Each case is a sequence of records of pod p. The GPUs are a and b.
func TestMismatch_Update(t *testing.T) {
	shares := func(gpus string) []growth.GPUShare {
		var all []growth.GPUShare
		for _, g := range gpus {
			all = append(all, growth.GPUShare{GPU: growth.GPU(g), Memory: gib})
		}
		return all
	}
	// given are the allocated GPUs of each container; reserved and bound are the GPUs of those records. Empty means no
	// record.
	records := func(given []string, reserved, bound string) placement.Records {
		var r placement.Records
		if len(given) > 0 {
			var a bus.Allocation
			for _, gpus := range given {
				a.Containers = append(a.Containers, bus.ContainerAllocation{GPUs: shares(gpus)})
			}
			r.Allocations = map[growth.PodUID]bus.Allocation{"p": a}
		}
		if reserved != "" {
			r.Reservations = map[growth.PodUID]bus.Reservation{"p": {GPUs: shares(reserved)}}
		}
		if bound != "" {
			var gpus []growth.GPU
			for _, share := range shares(bound) {
				gpus = append(gpus, share.GPU)
			}
			r.Bound = map[growth.PodUID]placement.BoundPod{"p": {GPUs: gpus}}
		}
		return r
	}
	type history []placement.Records
	on := func(gpus ...string) []string { return gpus }
	for name, tc := range map[string]struct {
		history            history
		misplaced, unbound bool
	}{
		"no allocation yet":                              {history{records(nil, "a", "a")}, false, false},
		"as reserved":                                    {history{records(on("a"), "a", "a")}, false, false},
		"one of the reserved GPUs":                       {history{records(on("a"), "ab", "ab")}, false, false},
		"not as reserved":                                {history{records(on("b"), "a", "a")}, true, false},
		"one of two containers not as reserved":          {history{records(on("a", "b"), "a", "a")}, true, false},
		"reserved again after the Binding":               {history{records(on("b"), "b", "a")}, false, false},
		"and then the reservation expires":               {history{records(on("b"), "b", "a"), records(on("b"), "", "a")}, false, false},
		"not as in the Binding":                          {history{records(on("b"), "", "a")}, true, false},
		"not as in the Binding, which is then corrected": {history{records(on("b"), "", "a"), records(on("b"), "", "b")}, true, false},
		"not as reserved, then corrected":                {history{records(on("b"), "a", "a"), records(on("b"), "", "b")}, true, false},
		"it was reserved when first seen":                {history{records(on("a"), "a", ""), records(on("a"), "", "a")}, false, false},
		"a second container follows on another GPU":      {history{records(on("a"), "", "a"), records(on("a", "b"), "", "a")}, true, false},
		"the API server lists the pod later":             {history{records(on("b"), "", ""), records(on("b"), "", "a")}, true, false},
		"an unknown pod":                                 {history{records(on("a"), "", "")}, false, true},
		"an unknown pod with a reservation":              {history{records(on("a"), "a", "")}, false, false},
		"a pod that is no longer listed":                 {history{records(on("a"), "a", "a"), records(on("a"), "", "")}, false, true},
		"a misplaced pod that is no longer listed":       {history{records(on("b"), "a", "a"), records(on("b"), "", "")}, true, true},
		"the allocation is deleted":                      {history{records(on("b"), "a", "a"), records(nil, "", "")}, false, false},
		"the allocation is deleted and created again":    {history{records(on("b"), "a", "a"), records(nil, "", ""), records(on("b"), "", "b")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var m placement.Mismatch
			var before placement.Records
			for _, now := range tc.history {
				m, before = m.Update(before, now), now
			}
			var want placement.Mismatch
			if tc.misplaced {
				want.Misplaced = []growth.PodUID{"p"}
			}
			if tc.unbound {
				want.Unbound = []growth.PodUID{"p"}
			}
			require.Equal(t, want, m)
			require.Equal(t, !tc.misplaced && !tc.unbound, m.Empty())
		})
	}
}
