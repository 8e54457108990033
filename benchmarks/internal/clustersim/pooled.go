package clustersim

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
)

// Pooled is the name of the row of runPooled.
const Pooled = "one pool, shortest first"

// runPooled runs jobs on one machine with all CPUs. The job with the least remaining time gets what it can use, then the next.
func runPooled(jobs []sim.Job, cores float64) outcome {
	result := outcome{ends: make([]float64, len(jobs)), moves: make([]int, len(jobs))}
	type rest struct {
		index      int
		work, rate float64
	}
	var left []rest
	now := 0.0
	for arrived := 0; arrived < len(jobs) || len(left) > 0; {
		if len(left) == 0 {
			now = max(now, jobs[arrived].Arrival)
		}
		for arrived < len(jobs) && jobs[arrived].Arrival <= now {
			left = append(left, rest{index: arrived, work: jobs[arrived].Work})
			arrived++
		}
		slices.SortStableFunc(left, func(a, b rest) int {
			return cmp.Compare(a.work/jobs[a.index].Limit, b.work/jobs[b.index].Limit)
		})
		free, step := cores, math.Inf(1)
		if arrived < len(jobs) {
			step = jobs[arrived].Arrival - now
		}
		for i := range left {
			left[i].rate = min(free, jobs[left[i].index].Limit)
			free -= left[i].rate
			if left[i].rate > 0 {
				step = min(step, left[i].work/left[i].rate)
			}
		}
		now += step
		var running []rest
		for _, j := range left {
			if j.work -= j.rate * step; j.work > dust {
				running = append(running, j)
				continue
			}
			result.ends[j.index] = now - jobs[j.index].Arrival
		}
		left = running
	}
	result.makespan = now
	return result
}

// Bound is the name of the row of lowerBounds.
const Bound = "no system is faster"

// lowerBounds returns times that no system falls below on machines with these CPUs in all. Each job ends as if it were alone. The
// makespan is at least the end of each job alone, and from any arrival on, all CPUs are needed for the work that arrives then and later.
func lowerBounds(jobs []sim.Job, cores float64) outcome {
	result := outcome{ends: make([]float64, len(jobs)), moves: make([]int, len(jobs))}
	work := 0.0
	for i, j := range slices.Backward(jobs) { // in the order of their arrival
		result.ends[i] = j.Work / j.Limit
		work += j.Work
		result.makespan = max(result.makespan, j.Arrival+result.ends[i], j.Arrival+work/cores)
	}
	return result
}
