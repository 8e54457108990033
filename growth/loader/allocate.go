package loader

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Budget returns the cores of a node that are left for workers when training processes take some. If they take all, jobs
// load in their own process.
func Budget(cores growth.MilliCPU, training int) int {
	return max(0, int(cores/growth.Core)-training)
}

// Weight is the value of one sample per second of a job, ≥ 0.
type Weight float64

// Job is a job in an allocation.
type Job struct {
	UID    growth.PodUID
	Weight Weight
	// Width is the number of the job's devices on the node. The job gets workers in multiples of it.
	Width int
	// Curve is the predicted throughput per device. It need not be monotone.
	Curve Curve
}

// Value returns the value of the job with w workers per device.
func (j Job) Value(w int) float64 { return j.valueOf(j.Curve.At(w)) }

func (j Job) valueOf(rate growth.PerSecond) float64 {
	if !(j.Weight > 0 && j.Weight <= math.MaxFloat32) {
		return 0
	}
	return float64(j.Weight) * float64(max(1, j.Width)) * float64(rate)
}

// Allocation is the number of workers per device of each job.
type Allocation map[growth.PodUID]int

// Cores returns the number of cores that an allocation uses.
func (a Allocation) Cores(jobs []Job) int {
	cores := 0
	for _, j := range jobs {
		cores += max(1, j.Width) * a[j.UID]
	}
	return cores
}

// Value returns the total value of an allocation.
func (a Allocation) Value(jobs []Job) float64 {
	value := 0.0
	for _, j := range jobs {
		value += j.Value(a[j.UID])
	}
	return value
}

// Allocate divides budget cores among jobs. The result has the largest possible total value.
func Allocate(jobs []Job, budget int) Allocation {
	jobs = hulls(jobs)
	if greedyIsExact(jobs) {
		return greedy(jobs, budget)
	}
	return knapsack(jobs, budget)
}

// hulls returns the jobs in the order of their UIDs, with the hulls of their curves.
func hulls(jobs []Job) []Job {
	all := make([]Job, len(jobs))
	for i, j := range jobs {
		all[i] = Job{
			UID:    j.UID,
			Weight: j.Weight,
			Width:  max(1, j.Width),
			Curve:  j.Curve.Hull(),
		}
	}
	slices.SortFunc(all, func(a, b Job) int { return cmp.Compare(a.UID, b.UID) })
	return all
}

// greedyIsExact reports whether always taking the most valuable next worker is optimal.
func greedyIsExact(jobs []Job) bool {
	return !slices.ContainsFunc(jobs, func(j Job) bool { return j.Width != jobs[0].Width || !j.Curve.concave() })
}

// greedy repeatedly assigns one worker to the job that gains most from it.
func greedy(jobs []Job, budget int) Allocation {
	allocation := Allocation{}
	queue := make(gainQueue, 0, len(jobs))
	for _, j := range jobs {
		allocation[j.UID] = 0
		queue = append(queue, nextGain(j, 0))
	}
	heap.Init(&queue)
	for len(queue) > 0 && queue[0].gain > 0 && budget >= queue[0].job.Width {
		j := queue[0].job
		budget -= j.Width
		allocation[j.UID]++
		queue[0] = nextGain(j, allocation[j.UID])
		heap.Fix(&queue, 0)
	}
	return allocation
}

// marginalGain is the value that the next worker of a job adds.
type marginalGain struct {
	job  Job
	gain float64
}

func nextGain(j Job, w int) marginalGain { return marginalGain{j, j.Value(w+1) - j.Value(w)} }

// gainQueue is a heap with the largest gain first.
type gainQueue []marginalGain

func (q gainQueue) Len() int      { return len(q) }
func (q gainQueue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }
func (q gainQueue) Less(a, b int) bool {
	if q[a].gain != q[b].gain {
		return q[a].gain > q[b].gain
	}
	return q[a].job.UID < q[b].job.UID
}
func (q *gainQueue) Push(x any) { *q = append(*q, x.(marginalGain)) }
func (q *gainQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
