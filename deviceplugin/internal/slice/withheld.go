package slice

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Withheld is the number of units on each GPU that pods of another device plugin hold. Kubelet counts these units
// under ids that are no longer advertised, so the same number of our ids must stay unused. The last ids of a GPU do.
// Values only decrease, because no plugin allocates these units any more.
type Withheld map[growth.GPU]int

// Filter removes the last withheld ids of each GPU.
func (h Withheld) Filter(available []string) []string {
	if len(h) == 0 {
		return available
	}
	sorted := slices.Clone(available)
	slices.SortFunc(sorted, func(a, b string) int { // last ids first
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
	})
	left := map[growth.GPU]int{}
	return slices.DeleteFunc(sorted, func(id string) bool {
		gpu := gpuOf(id)
		left[gpu]++
		return left[gpu] <= h[gpu]
	})
}

// Covers reports whether an id is withheld on a GPU with this number of units.
func (h Withheld) Covers(id string, units int) bool {
	gpu, n, err := Parse(id)
	return err == nil && n >= units-h[gpu]
}

// OnGPU reports whether an id belongs to the GPU.
func OnGPU(id string, gpu growth.GPU) bool { return gpuOf(id) == gpu }

// HasForeign reports whether the ids contain one of another device plugin.
func HasForeign(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		_, _, err := Parse(id)
		return err != nil
	})
}
