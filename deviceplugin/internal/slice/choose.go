package slice

import (
	"cmp"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Request is kubelet's GetPreferredAllocation request for one container.
type Request struct {
	Available []string
	// MustInclude are ids that the result must contain: kubelet reuses those of the pod's init containers.
	MustInclude []string
	Size        int
	// NUMA has the NUMA node of each GPU for which it is known. A choice of several GPUs prefers those of one node.
	NUMA map[growth.GPU]int
}

// Choose returns the ids that kubelet should allocate: Size of the available ones, the MustInclude ids first. It
// returns fewer only if fewer are available.
//
// Choose prefers, in this order: the reserved GPUs, if that takes no room reserved for others; the tightest fit
// outside reserved room; the reserved GPUs in any case; the tightest fit in any case. The second comes before the
// third when kubelet admitted pods in another order than expected.
func Choose(r Request, demands []Demand) []string {
	c := newChoice(r)
	if c.need == 0 {
		return c.chosen
	}
	demand, reserved := matchRequest(r.Size, demands)
	planned := c.subtractTaken(demand.split(r.Size))
	fitting := c.subtractTaken(c.bestFit(r.Size, max(demand.Count, 1), demand.Room, reserved))
	plans := [][]Part{
		c.outsideReserved(planned, reserved),
		c.outsideReserved(fitting, reserved),
		planned,
		fitting,
	}
	for _, plan := range plans {
		if c.takeParts(plan) {
			return c.chosen
		}
	}
	c.takeRest()
	return c.chosen
}

// matchRequest returns the demand that the request most likely belongs to, and the units reserved by all other
// demands.
func matchRequest(size int, demands []Demand) (Demand, map[growth.GPU]int) {
	ordered := inAdmissionOrder(demands)
	mine := slices.IndexFunc(ordered, func(d Demand) bool { return d.Units == size })
	reserved := map[growth.GPU]int{}
	for i, d := range ordered {
		if i == mine || d.Init {
			continue
		}
		for _, p := range d.split(d.Units) {
			reserved[p.GPU] += p.Units
		}
	}
	if mine < 0 {
		return Demand{}, reserved
	}
	return ordered[mine], reserved
}

// choice is a partial result of Choose.
type choice struct {
	free   map[growth.GPU][]string // in the order of use
	taken  map[growth.GPU]int      // chosen so far
	chosen []string
	need   int
	numa   map[growth.GPU]int // the NUMA node of GPUs for which it is known
}

func newChoice(r Request) *choice {
	c := &choice{
		free:   map[growth.GPU][]string{},
		taken:  map[growth.GPU]int{},
		chosen: []string{},
		need:   max(r.Size, 0),
		numa:   r.NUMA,
	}
	available := make(map[string]struct{}, len(r.Available))
	for _, id := range r.Available {
		available[id] = struct{}{}
	}
	for _, id := range r.MustInclude {
		if _, ok := available[id]; ok && c.need > 0 {
			delete(available, id)
			c.take(gpuOf(id), id)
		}
	}
	for id := range available {
		c.free[gpuOf(id)] = append(c.free[gpuOf(id)], id)
	}
	for _, ids := range c.free {
		slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	}
	return c
}

// gpuOf returns the GPU of an id. An invalid id counts as a GPU of its own.
func gpuOf(id string) growth.GPU {
	if gpu, _, ok := cut(id); ok {
		return gpu
	}
	return growth.GPU(id)
}

func (c *choice) take(gpu growth.GPU, id string) {
	c.chosen = append(c.chosen, id)
	c.taken[gpu]++
	c.need--
}

// subtractTaken removes from a plan what is chosen already. It returns nil if the plan does not contain all of that.
func (c *choice) subtractTaken(plan []Part) []Part {
	taken := maps.Clone(c.taken)
	remaining := make([]Part, 0, len(plan))
	for _, p := range plan {
		if taken[p.GPU] > p.Units {
			return nil
		}
		remaining = append(remaining, Part{GPU: p.GPU, Units: p.Units - taken[p.GPU]})
		delete(taken, p.GPU)
	}
	if len(taken) > 0 {
		return nil
	}
	return remaining
}

// outsideReserved returns the plan if it takes no reserved room, else nil.
func (c *choice) outsideReserved(plan []Part, reserved map[growth.GPU]int) []Part {
	if slices.ContainsFunc(plan, func(p Part) bool { return len(c.free[p.GPU])-reserved[p.GPU] < p.Units }) {
		return nil
	}
	return plan
}

// takeParts takes all of a plan or nothing.
func (c *choice) takeParts(plan []Part) bool {
	if len(plan) == 0 || slices.ContainsFunc(plan, func(p Part) bool { return len(c.free[p.GPU]) < p.Units }) {
		return false
	}
	for _, p := range plan {
		for _, id := range c.free[p.GPU][:p.Units] {
			c.take(p.GPU, id)
		}
		c.free[p.GPU] = c.free[p.GPU][p.Units:]
	}
	return true
}

// bestFit plans size units evenly on count GPUs, or returns nil if they do not fit. It prefers GPUs with chosen
// units, then several GPUs of one NUMA node, then the tightest fit for the pod's room outside reserved room, then the
// GPUs with the least missing. Ties break by name.
func (c *choice) bestFit(size, count, room int, reserved map[growth.GPU]int) []Part {
	if size%count != 0 {
		return nil
	}
	each := size / count
	var candidates []growth.GPU
	for _, gpu := range c.gpus() {
		if c.taken[gpu]+len(c.free[gpu]) >= each {
			candidates = append(candidates, gpu)
		}
	}
	if len(candidates) < count {
		return nil
	}
	slack := func(gpu growth.GPU) int {
		return c.taken[gpu] + len(c.free[gpu]) - reserved[gpu] - max(each, room/count)
	}
	slices.SortStableFunc(candidates, func(a, b growth.GPU) int {
		return cmp.Or(-cmp.Compare(c.taken[a], c.taken[b]), compareSlack(slack(a), slack(b)))
	})
	outside := slices.DeleteFunc(slices.Clone(candidates), func(gpu growth.GPU) bool { return slack(gpu) < 0 })
	if local := c.onOneNode(outside, count); local != nil {
		candidates = local
	}
	plan := make([]Part, count)
	for i, gpu := range candidates[:count] {
		plan[i] = Part{GPU: gpu, Units: each}
	}
	return plan
}

// compareSlack orders by remaining units, least first. Negative values, which take reserved room, come last, the most
// negative at the end.
func compareSlack(a, b int) int {
	if a < 0 || b < 0 {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

// takeRest takes the remaining units from as few GPUs as possible. No valid choice exists, and kubelet would choose
// at random; Allocate explains the error.
func (c *choice) takeRest() {
	gpus := c.gpus()
	slices.SortStableFunc(gpus, func(a, b growth.GPU) int {
		return cmp.Or(-cmp.Compare(c.taken[a], c.taken[b]), -cmp.Compare(len(c.free[a]), len(c.free[b])))
	})
	for _, gpu := range gpus {
		for _, id := range c.free[gpu][:min(c.need, len(c.free[gpu]))] {
			c.take(gpu, id)
		}
	}
}

// gpus returns all GPUs of the choice by name.
func (c *choice) gpus() []growth.GPU {
	all := maps.Clone(c.taken)
	for gpu := range c.free {
		all[gpu] = 0
	}
	return slices.Sorted(maps.Keys(all))
}
