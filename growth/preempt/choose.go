package preempt

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Choose returns the cheapest plan that makes the request fit, or the reason why no eviction can. jobs are all pods
// that may be evicted; proposed are those of them that the scheduler's dry run chose.
func Choose(
	n placement.Node, r placement.Request, jobs, proposed []Job, allowed DisruptionsAllowed,
) (Plan, placement.Status) {
	memory, status := r.MemoryPerGPU(n.Unit)
	if status.Fits() {
		status = placement.Fit(without(n, jobs), r)
	}
	if !status.Fits() {
		return Plan{}, status
	}
	s := search{
		node:     n,
		request:  r,
		memory:   memory,
		jobs:     jobs,
		proposed: proposed,
		allowed:  allowed,
	}
	var best *Plan
	for _, victims := range s.candidates() {
		plan := allowed.plan(victims)
		if best == nil || plan.Compare(*best) < 0 {
			best = &plan
		}
	}
	return *best, placement.Status{}
}

// search is the input of Choose.
type search struct {
	node           placement.Node
	request        placement.Request
	memory         growth.MiB // per GPU
	jobs, proposed []Job
	allowed        DisruptionsAllowed
}

// candidates returns sets of victims, each of which makes the request fit. There is at least one.
func (s search) candidates() [][]Job {
	var candidates [][]Job
	if s.fits(s.proposed) {
		candidates = append(candidates, s.proposed)
	}
	gpus := s.plansPerGPU()
	for i := range gpus {
		victims := gpus[i].Victims
		others := slices.Delete(slices.Clone(gpus), i, i+1)
		for _, other := range others[:s.request.Count-1] {
			victims = union(victims, other.Victims)
		}
		candidates = append(candidates, s.coverDryRun(s.reprieve(victims, s.fits)))
	}
	return candidates
}

// plansPerGPU returns a plan for each GPU that can be freed, the cheapest first.
func (s search) plansPerGPU() []Plan {
	var plans []Plan
	for _, g := range s.node.GPUs {
		freesEnough := func(victims []Job) bool {
			free := g.Free()
			for _, r := range g.Residents {
				if slices.ContainsFunc(victims, func(job Job) bool { return job.Pod == r.Pod }) {
					free += r.Memory
				}
			}
			return g.Healthy && free >= s.memory
		}
		if freesEnough(s.jobs) {
			plans = append(plans, s.allowed.plan(s.reprieve(s.jobs, freesEnough)))
		}
	}
	slices.SortStableFunc(plans, Plan.Compare)
	return plans
}

// reprieve removes victims while the rest is enough: first those whose eviction violates a budget, then the most
// important.
func (s search) reprieve(victims []Job, enough func([]Job) bool) []Job {
	order := slices.SortedFunc(slices.Values(victims), moreImportant)
	violating := s.allowed.violatingPods(order)
	slices.SortStableFunc(order, func(a, b Job) int {
		return -cmp.Compare(toInt(violating[a.Pod]), toInt(violating[b.Pod]))
	})
	left := slices.Clone(order)
	for _, job := range order {
		fewer := remove(left, job)
		if enough(fewer) {
			left = fewer
		}
	}
	return left
}

// coverDryRun adds the victims of the dry run to a plan that frees less CPU or memory than they do, or that is empty.
func (s search) coverDryRun(victims []Job) []Job {
	cpu, memory := freedResources(victims)
	wantedCPU, wantedMemory := freedResources(s.proposed)
	if len(victims) == 0 || cpu < wantedCPU || memory < wantedMemory {
		return union(victims, s.proposed)
	}
	return victims
}

// fits reports whether the request fits without the victims.
func (s search) fits(victims []Job) bool {
	return placement.Fit(without(s.node, victims), s.request).Fits()
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
		if !slices.ContainsFunc(a, func(other Job) bool { return other.Pod == job.Pod }) {
			all = append(all, job)
		}
	}
	return all
}

func remove(jobs []Job, job Job) []Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(other Job) bool { return other.Pod == job.Pod })
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
