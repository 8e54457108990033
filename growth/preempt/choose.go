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
	c := search{node: n, request: r, memory: memory, jobs: jobs, proposed: dry, allowed: allowed}
	var best *Plan
	for _, victims := range c.candidates() {
		if plan := allowed.plan(victims); best == nil || plan.Compare(*best) < 0 {
			best = &plan
		}
	}
	return *best, placement.Status{}
}

type search struct {
	node           placement.Node
	request        placement.Request
	memory         growth.MiB
	jobs, proposed []Job
	allowed        DisruptionsAllowed
}

// options are sets of victims of which each makes room. There is at least one.
func (c search) candidates() [][]Job {
	var options [][]Job
	if c.fits(c.proposed) {
		options = append(options, c.proposed)
	}
	gpus := c.plansPerGPU()
	for i := range gpus {
		victims := gpus[i].Victims
		others := slices.Delete(slices.Clone(gpus), i, i+1)
		for _, other := range others[:c.request.Count-1] {
			victims = union(victims, other.Victims)
		}
		options = append(options, c.coverDryRun(c.reprieve(victims, c.fits)))
	}
	return options
}

// gpus lists the plans to make room on one GPU each, those that lose least first.
func (c search) plansPerGPU() []Plan {
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
			plans = append(plans, c.allowed.plan(c.reprieve(c.jobs, makesRoom)))
		}
	}
	slices.SortStableFunc(plans, Plan.Compare)
	return plans
}

// thin puts victims back as long as there is room enough without them.
func (c search) reprieve(victims []Job, enough func([]Job) bool) []Job {
	order := slices.SortedFunc(slices.Values(victims), moreImportant)
	beyond := c.allowed.violatingPods(order)
	slices.SortStableFunc(order, func(a, b Job) int { return -cmp.Compare(toInt(beyond[a.Pod]), toInt(beyond[b.Pod])) })
	left := slices.Clone(order)
	for _, job := range order {
		if fewer := remove(left, job); enough(fewer) {
			left = fewer
		}
	}
	return left
}

// whole adds the dry run's victims to a plan that frees less beside GPUs than they do, or nothing at all.
func (c search) coverDryRun(victims []Job) []Job {
	cpu, memory := freedResources(victims)
	wantedCPU, wantedMemory := freedResources(c.proposed)
	if len(victims) == 0 || cpu < wantedCPU || memory < wantedMemory {
		return union(victims, c.proposed)
	}
	return victims
}

func (c search) fits(victims []Job) bool {
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

func remove(jobs []Job, job Job) []Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(have Job) bool { return have.Pod == job.Pod })
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
