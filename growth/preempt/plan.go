package preempt

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Plan is a set of victims and what is lost by it.
type Plan struct {
	// Victims are ordered by falling priority, as the scheduler wants them.
	Victims    []Job
	Violations int
	Growth     growth.Growth
}

func (a DisruptionsAllowed) plan(victims []Job) Plan {
	victims = slices.SortedFunc(slices.Values(victims), moreImportant)
	p := Plan{Victims: victims, Violations: a.Violations(victims)}
	for _, job := range victims {
		p.Growth += job.Growth
	}
	return p
}

// Compare is negative where p loses less than q. Plans without victims lose nothing.
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

// frees sums what the victims hold beside GPUs.
func freedResources(victims []Job) (cpu growth.MilliCPU, memory growth.MiB) {
	for _, job := range victims {
		cpu, memory = cpu+job.CPU, memory+job.Memory
	}
	return cpu, memory
}
