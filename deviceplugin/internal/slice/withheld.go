package slice

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Withheld is how many units of each GPU pods hold that another device plugin started. Kubelet does not subtract them: it
// knows them by ids that nobody advertises any more. So that many of our ids per GPU must stay unused, and the last ones
// do. What is held only ever shrinks: nobody hands out more of it.
type Withheld map[growth.GPU]int

// Filter leaves the last ids of each GPU out, as many as are held of it.
func (h Withheld) Filter(available []string) []string {
	if len(h) == 0 {
		return available
	}
	sorted := slices.Clone(available)
	slices.SortFunc(sorted, func(a, b string) int { // the last ones first
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(b, a))
	})
	left := map[growth.GPU]int{}
	return slices.DeleteFunc(sorted, func(id string) bool {
		gpu := gpuOf(id)
		left[gpu]++
		return left[gpu] <= h[gpu]
	})
}

// Covers tells whether an id is one of those that stay unused on a GPU of so many units.
func (h Withheld) Covers(id string, units int) bool {
	gpu, n, err := Parse(id)
	return err == nil && n >= units-h[gpu]
}

// OnGPU tells whether an id is of a GPU.
func OnGPU(id string, gpu growth.GPU) bool { return gpuOf(id) == gpu }

// HasForeign tells whether a set of ids is another device plugin's.
func HasForeign(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		_, _, err := Parse(id)
		return err != nil
	})
}
