package slice

import (
	"cmp"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Request is kubelet's question for one container.
type Request struct {
	Available []string
	// MustInclude holds ids that are to be among the chosen: those of the pod's init containers, which are used again.
	MustInclude []string
	Size        int
}

// Choose returns the ids that kubelet should take, at most Size of those available, the Must ids first. It returns
// fewer only where fewer are available.
//
// A reservation is followed as long as that leaves the others' reserved room alone. It does where kubelet follows the
// order that was foreseen. Where it swapped pods before, a plan that takes nobody's room comes first.
func Choose(r Request, demands []Demand) []string {
	c := newChoice(r)
	if c.need == 0 {
		return c.chosen
	}
	demand, reserved := matchRequest(r.Size, demands)
	planned := c.subtractTaken(demand.split(r.Size))
	fitting := c.subtractTaken(c.bestFit(r.Size, max(demand.Count, 1), demand.Room, reserved))
	for _, plan := range [][]Part{c.outsideReserved(planned, reserved), c.outsideReserved(fitting, reserved), planned, fitting} {
		if c.takeParts(plan) {
			return c.chosen
		}
	}
	c.takeRest()
	return c.chosen
}

// matchRequest finds whose request this is likely to be, and how much room the others have reserved.
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

// choice is one answer in the making.
type choice struct {
	free   map[growth.GPU][]string // in the order they are taken
	taken  map[growth.GPU]int      // chosen so far
	chosen []string
	need   int
}

func newChoice(r Request) *choice {
	c := &choice{
		free:   map[growth.GPU][]string{},
		taken:  map[growth.GPU]int{},
		chosen: []string{},
		need:   max(r.Size, 0),
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

// gpuOf groups ids. What is no id of ours is a GPU of its own.
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

// subtractTaken takes off a plan what is held already. A plan that does not cover what is held is none.
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

// outsideReserved returns a plan that takes no reserved room away, or nothing.
func (c *choice) outsideReserved(plan []Part, reserved map[growth.GPU]int) []Part {
	if slices.ContainsFunc(plan, func(p Part) bool { return len(c.free[p.GPU])-reserved[p.GPU] < p.Units }) {
		return nil
	}
	return plan
}

// takeParts takes all of a plan, or nothing of it.
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

// bestFit plans size units, evenly over count GPUs: those that hold some already, then the tightest fits for the room the
// pod needs beside reserved room, then those where least is missing. Ties break by name. Nil without such a plan.
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
	plan := make([]Part, count)
	for i, gpu := range candidates[:count] {
		plan[i] = Part{GPU: gpu, Units: each}
	}
	return plan
}

// compareSlack orders room left over: the least first, but what takes reserved room away (negative) last, the most
// negative last of all.
func compareSlack(a, b int) int {
	if a < 0 || b < 0 {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

// takeRest takes what is left to take from as few GPUs as possible, where no sound answer exists: kubelet would choose
// at random otherwise, and Allocate says what is wrong.
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

// gpus lists the GPUs at hand, by name.
func (c *choice) gpus() []growth.GPU {
	all := maps.Clone(c.taken)
	for gpu := range c.free {
		all[gpu] = 0
	}
	return slices.Sorted(maps.Keys(all))
}
