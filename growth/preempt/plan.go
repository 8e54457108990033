package preempt

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Plan is a set of victims with its cost.
type Plan struct {
	// Victims are ordered by decreasing priority, as kube-scheduler expects.
	Victims []Job
	// Violations is the number of victims whose eviction violates a budget.
	Violations int
	// Growth is the growth lost.
	Growth growth.Growth
}

func (a DisruptionsAllowed) plan(victims []Job) Plan {
	victims = slices.SortedFunc(slices.Values(victims), moreImportant)
	p := Plan{Victims: victims, Violations: a.Violations(victims)}
	for _, job := range victims {
		p.Growth += job.Growth
	}
	return p
}

// Compare returns a negative number if p costs less than q. A plan without victims costs nothing.
func (p Plan) Compare(q Plan) int {
	return cmp.Or(
		cmp.Compare(p.Violations, q.Violations),
		cmp.Compare(min(1, len(p.Victims)), min(1, len(q.Victims))),
		cmp.Compare(p.highestPriority(), q.highestPriority()),
		cmp.Compare(p.Growth, q.Growth),
		cmp.Compare(len(p.Victims), len(q.Victims)),
		slices.CompareFunc(p.Victims, q.Victims, func(a, b Job) int { return -moreImportant(a, b) }),
	)
}

func (p Plan) highestPriority() int32 {
	if len(p.Victims) == 0 {
		return 0
	}
	return p.Victims[0].Priority
}

// freedResources returns the CPU and memory that the victims free.
func freedResources(victims []Job) (cpu growth.MilliCPU, memory growth.MiB) {
	for _, job := range victims {
		cpu += job.CPU
		memory += job.Memory
	}
	return cpu, memory
}
