package preempt

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Job is a pod that holds GPU memory on the node and may be evicted.
type Job struct {
	Pod      growth.PodUID
	Priority int32
	// Growth is the job's growth, which an eviction loses.
	Growth growth.Growth
	// Created is the creation time. Of equal jobs the younger is evicted.
	Created time.Time
	// CPU and Memory are the pod's requests.
	CPU    growth.MilliCPU
	Memory growth.MiB
	// Budgets are the disruption budgets that cover the pod.
	Budgets []Budget
}

// Budget is the name of a disruption budget.
type Budget string

// DisruptionsAllowed has the disruptions that each budget still allows; 0 for a budget that is not listed.
type DisruptionsAllowed map[Budget]int

// moreImportant orders jobs by decreasing importance. It is a total order.
func moreImportant(a, b Job) int {
	return cmp.Or(
		-cmp.Compare(a.Priority, b.Priority),
		-cmp.Compare(a.Growth, b.Growth),
		a.Created.Compare(b.Created),
		cmp.Compare(a.Pod, b.Pod),
	)
}

// violatingPods returns the victims whose eviction violates a budget. victims are ordered by decreasing importance.
func (a DisruptionsAllowed) violatingPods(victims []Job) map[growth.PodUID]bool {
	used := map[Budget]int{}
	violating := map[growth.PodUID]bool{}
	for _, job := range victims {
		for _, budget := range job.Budgets {
			used[budget]++
			if used[budget] > a[budget] {
				violating[job.Pod] = true
			}
		}
	}
	return violating
}

// Violations returns the number of victims whose eviction violates a budget.
func (a DisruptionsAllowed) Violations(victims []Job) int {
	return len(a.violatingPods(slices.SortedFunc(slices.Values(victims), moreImportant)))
}
