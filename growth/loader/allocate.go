package loader

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Budget is how many cores of a node are left for workers by the training processes on it, one for each device of each job. Such
// a process keeps a core busy by itself: a worker beside it on that core would not load while it computes, but only cost both.
// Where there are as many as cores, they load while others compute.
func Budget(cores growth.MilliCPU, processes int) int {
	return max(0, int(cores/growth.Core)-processes)
}

// Weight is what one sample per second of a job is worth, ≥ 0.
type Weight float64

// Job is what the allocation needs to know of a job.
type Job struct {
	UID    growth.PodUID
	Weight Weight
	// Width is how many devices the job has on this node: it gets workers in multiples of that.
	Width int
	// Curve is the predicted throughput per device. It need not be monotone.
	Curve Curve
}

// Value is what the job is worth with w workers per device.
func (j Job) Value(w int) float64 { return j.gain(j.Curve.At(w)) }

func (j Job) gain(rate growth.PerSecond) float64 {
	if !(j.Weight > 0 && j.Weight <= math.MaxFloat32) {
		return 0
	}
	return float64(j.Weight) * float64(max(1, j.Width)) * float64(rate)
}

// Allocation is workers per device, by job.
type Allocation map[growth.PodUID]int

// Cores is how many cores an allocation keeps busy.
func (a Allocation) Cores(jobs []Job) int {
	cores := 0
	for _, j := range jobs {
		cores += max(1, j.Width) * a[j.UID]
	}
	return cores
}

// Value is what an allocation is worth.
func (a Allocation) Value(jobs []Job) float64 {
	value := 0.0
	for _, j := range jobs {
		value += j.Value(a[j.UID])
	}
	return value
}

// Allocate divides budget cores among jobs so that the sum of their values is the largest possible.
func Allocate(jobs []Job, budget int) Allocation {
	hulls := make([]Job, len(jobs))
	for i, j := range jobs {
		hulls[i] = Job{UID: j.UID, Weight: j.Weight, Width: max(1, j.Width), Curve: j.Curve.Hull()}
	}
	slices.SortFunc(hulls, func(a, b Job) int { return cmp.Compare(a.UID, b.UID) })
	if greedyIsExact(hulls) {
		return greedy(hulls, budget)
	}
	return knapsack(hulls, budget)
}

// simple tells whether taking the best next worker each time is exact.
func greedyIsExact(jobs []Job) bool {
	return !slices.ContainsFunc(jobs, func(j Job) bool { return j.Width != jobs[0].Width || !j.Curve.concave() })
}

// greedy gives one worker at a time to the job that gains the most by it.
func greedy(jobs []Job, budget int) Allocation {
	given := Allocation{}
	queue := make(gainQueue, 0, len(jobs))
	for _, j := range jobs {
		given[j.UID] = 0
		queue = append(queue, nextGain(j, 0))
	}
	heap.Init(&queue)
	for len(queue) > 0 && queue[0].gain > 0 && budget >= queue[0].job.Width {
		j := queue[0].job
		budget -= j.Width
		given[j.UID]++
		queue[0] = nextGain(j, given[j.UID])
		heap.Fix(&queue, 0)
	}
	return given
}

// gain is what a job's next worker adds.
type marginalGain struct {
	job  Job
	gain float64
}

func nextGain(j Job, w int) marginalGain { return marginalGain{j, j.Value(w+1) - j.Value(w)} }

// gains is a heap, the largest first.
type gainQueue []marginalGain

func (g gainQueue) Len() int      { return len(g) }
func (g gainQueue) Swap(a, b int) { g[a], g[b] = g[b], g[a] }
func (g gainQueue) Less(a, b int) bool {
	if g[a].gain != g[b].gain {
		return g[a].gain > g[b].gain
	}
	return g[a].job.UID < g[b].job.UID
}
func (g *gainQueue) Push(x any) { *g = append(*g, x.(marginalGain)) }
func (g *gainQueue) Pop() any {
	last := (*g)[len(*g)-1]
	*g = (*g)[:len(*g)-1]
	return last
}
