package preempt

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Choose returns the plan that makes room for the request and loses least, or says why no eviction would make any. jobs are all
// that may be evicted, dry those of them that the scheduler's dry run chose.
func Choose(n placement.Node, r placement.Request, jobs, dry []Job, allowed DisruptionsAllowed) (Plan, placement.Status) {
	memory, misfit := r.MemoryPerGPU(n.Unit)
	if misfit.Fits() {
		misfit = placement.Fit(without(n, jobs), r)
	}
	if !misfit.Fits() {
		return Plan{}, misfit
	}
	c := chooser{node: n, request: r, memory: memory, jobs: jobs, dry: dry, allowed: allowed}
	var best *Plan
	for _, victims := range c.options() {
		if plan := allowed.plan(victims); best == nil || plan.Compare(*best) < 0 {
			best = &plan
		}
	}
	return *best, placement.Status{}
}

type chooser struct {
	node      placement.Node
	request   placement.Request
	memory    growth.MiB
	jobs, dry []Job
	allowed   DisruptionsAllowed
}

// options are sets of victims of which each makes room. There is at least one.
func (c chooser) options() [][]Job {
	var options [][]Job
	if c.fits(c.dry) {
		options = append(options, c.dry)
	}
	gpus := c.gpus()
	for i := range gpus {
		victims := gpus[i].Victims
		others := slices.Delete(slices.Clone(gpus), i, i+1)
		for _, other := range others[:c.request.Count-1] {
			victims = union(victims, other.Victims)
		}
		options = append(options, c.whole(c.thin(victims, c.fits)))
	}
	return options
}

// gpus lists the plans to make room on one GPU each, those that lose least first.
func (c chooser) gpus() []Plan {
	var plans []Plan
	for _, g := range c.node.GPUs {
		makesRoom := func(victims []Job) bool {
			room := g.Free()
			for _, r := range g.Residents {
				if slices.ContainsFunc(victims, func(job Job) bool { return job.Pod == r.Pod }) {
					room += r.Memory
				}
			}
			return g.Healthy && room >= c.memory
		}
		if makesRoom(c.jobs) {
			plans = append(plans, c.allowed.plan(c.thin(c.jobs, makesRoom)))
		}
	}
	slices.SortStableFunc(plans, Plan.Compare)
	return plans
}

// thin puts victims back as long as there is room enough without them.
func (c chooser) thin(victims []Job, enough func([]Job) bool) []Job {
	order := slices.SortedFunc(slices.Values(victims), dearest)
	beyond := c.allowed.violating(order)
	slices.SortStableFunc(order, func(a, b Job) int { return -cmp.Compare(flag(beyond[a.Pod]), flag(beyond[b.Pod])) })
	left := slices.Clone(order)
	for _, job := range order {
		if fewer := minus(left, job); enough(fewer) {
			left = fewer
		}
	}
	return left
}

// whole adds the dry run's victims to a plan that frees less beside GPUs than they do, or nothing at all.
func (c chooser) whole(victims []Job) []Job {
	cpu, memory := frees(victims)
	wantedCPU, wantedMemory := frees(c.dry)
	if len(victims) == 0 || cpu < wantedCPU || memory < wantedMemory {
		return union(victims, c.dry)
	}
	return victims
}

func (c chooser) fits(victims []Job) bool {
	return placement.Fit(without(c.node, victims), c.request).Fits()
}

func without(n placement.Node, victims []Job) placement.Node {
	for _, job := range victims {
		n = n.Without(job.Pod)
	}
	return n
}

func union(a, b []Job) []Job {
	all := slices.Clone(a)
	for _, job := range b {
		if !slices.ContainsFunc(a, func(have Job) bool { return have.Pod == job.Pod }) {
			all = append(all, job)
		}
	}
	return all
}

func minus(jobs []Job, job Job) []Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(have Job) bool { return have.Pod == job.Pod })
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
