package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// TestMismatchesAreFoundAndRemembered tells the story of pod p in records, one after the other. GPUs are a and b.
func TestMismatchesAreFoundAndRemembered(t *testing.T) {
	shares := func(gpus string) []growth.GPUShare {
		var all []growth.GPUShare
		for _, g := range gpus {
			all = append(all, growth.GPUShare{GPU: growth.GPU(g), Memory: gib})
		}
		return all
	}
	// given are the GPUs of each container, the others those that are named; nothing is no record.
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
	type story []placement.Records
	on := func(gpus ...string) []string { return gpus }
	for name, tc := range map[string]struct {
		story                story
		elsewhere, unclaimed bool
	}{
		"nothing yet":                        {story{records(nil, "a", "a")}, false, false},
		"as reserved":                        {story{records(on("a"), "a", "a")}, false, false},
		"one of those reserved":              {story{records(on("a"), "ab", "ab")}, false, false},
		"not as reserved":                    {story{records(on("b"), "a", "a")}, true, false},
		"one of two not as reserved":         {story{records(on("a", "b"), "a", "a")}, true, false},
		"reserved anew since its Binding":    {story{records(on("b"), "b", "a")}, false, false},
		"and then the reservation goes":      {story{records(on("b"), "b", "a"), records(on("b"), "", "a")}, false, false},
		"not as its Binding said":            {story{records(on("b"), "", "a")}, true, false},
		"which is corrected":                 {story{records(on("b"), "", "a"), records(on("b"), "", "b")}, true, false},
		"not as reserved, then corrected":    {story{records(on("b"), "a", "a"), records(on("b"), "", "b")}, true, false},
		"it was reserved when we looked":     {story{records(on("a"), "a", ""), records(on("a"), "", "a")}, false, false},
		"its second container, later":        {story{records(on("a"), "", "a"), records(on("a", "b"), "", "a")}, true, false},
		"a pod that is heard of later":       {story{records(on("b"), "", ""), records(on("b"), "", "a")}, true, false},
		"a pod that nobody knows":            {story{records(on("a"), "", "")}, false, true},
		"whose reservation is still there":   {story{records(on("a"), "a", "")}, false, false},
		"which was known":                    {story{records(on("a"), "a", "a"), records(on("a"), "", "")}, false, true},
		"which was elsewhere when it was":    {story{records(on("b"), "a", "a"), records(on("b"), "", "")}, true, true},
		"gone with its allocation":           {story{records(on("b"), "a", "a"), records(nil, "", "")}, false, false},
		"and there again, as its Binding is": {story{records(on("b"), "a", "a"), records(nil, "", ""), records(on("b"), "", "b")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var m placement.Mismatch
			var before placement.Records
			for _, now := range tc.story {
				m, before = m.Update(before, now), now
			}
			var want placement.Mismatch
			if tc.elsewhere {
				want.Misplaced = []growth.PodUID{"p"}
			}
			if tc.unclaimed {
				want.Unbound = []growth.PodUID{"p"}
			}
			require.Equal(t, want, m)
			require.Equal(t, !tc.elsewhere && !tc.unclaimed, m.Empty())
		})
	}
}
