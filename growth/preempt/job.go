package preempt

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Job holds GPU memory on the node and may be evicted.
type Job struct {
	Pod      growth.PodUID
	Priority int32
	// Growth is what the job would lose, Since when it was made: of equals the younger goes.
	Growth  growth.Growth
	Created time.Time
	// CPU and Memory are what it holds of its node beside the GPU.
	CPU    growth.MilliCPU
	Memory growth.MiB
	// Budgets are those that guard it.
	Budgets []Budget
}

// Budget names a disruption budget.
type Budget string

// DisruptionsAllowed says how many more disruptions each budget allows. A budget that it does not list allows none.
type DisruptionsAllowed map[Budget]int

// dearest orders jobs by what is kept first. It is total: no two jobs are equal.
func moreImportant(a, b Job) int {
	return cmp.Or(
		-cmp.Compare(a.Priority, b.Priority),
		-cmp.Compare(a.Growth, b.Growth),
		a.Created.Compare(b.Created),
		cmp.Compare(a.Pod, b.Pod),
	)
}

// violating tells which of the victims, dearest first, are beyond what their budgets allow.
func (a DisruptionsAllowed) violatingPods(victims []Job) map[growth.PodUID]bool {
	used, beyond := map[Budget]int{}, map[growth.PodUID]bool{}
	for _, job := range victims {
		for _, budget := range job.Budgets {
			if used[budget]++; used[budget] > a[budget] {
				beyond[job.Pod] = true
			}
		}
	}
	return beyond
}

// Violations counts the victims that are beyond what their budgets allow.
func (a DisruptionsAllowed) Violations(victims []Job) int {
	return len(a.violatingPods(slices.SortedFunc(slices.Values(victims), moreImportant)))
}
