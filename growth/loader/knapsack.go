package loader

import (
	"math"
	"slices"
)

// knapsack allocates for curves of any shape and jobs of any width. It solves a grouped knapsack problem: one group per
// job, one item per number of workers, O(jobs · cores · workers).
func knapsack(jobs []Job, budget int) Allocation {
	best, chosen := tabulate(jobs, budget)
	used := 0
	for c := range best {
		if best[c] > best[used] {
			used = c
		}
	}
	allocation := Allocation{}
	for i := len(jobs) - 1; i >= 0; i-- {
		w := chosen[i][used]
		allocation[jobs[i].UID] = w
		used -= w * jobs[i].Width
	}
	return allocation
}

// tabulate returns the largest value that uses exactly c cores, best[c], and the number of workers of each job in it.
func tabulate(jobs []Job, budget int) (best []float64, chosen [][]int) {
	cores := 0
	for _, j := range jobs { // the most that all jobs can use
		cores += j.Width * max(0, len(j.Curve)-1)
	}
	cores = min(cores, max(0, budget))

	best = slices.Repeat([]float64{math.Inf(-1)}, cores+1)
	best[0] = 0
	chosen = make([][]int, len(jobs))
	for i, j := range jobs {
		best, chosen[i] = withJob(j, best)
	}
	return best, chosen
}

// valuesByCores returns the largest value of jobs that use at most c cores. More cores than it lists add nothing.
func valuesByCores(jobs []Job, budget int) []float64 {
	values, _ := tabulate(jobs, budget)
	for c := 1; c < len(values); c++ {
		values[c] = max(values[c], values[c-1])
	}
	return values
}

// withJob extends the best values by one job. chosen[c] is the job's number of workers in next[c]; ties go to the smaller
// number.
func withJob(j Job, best []float64) (next []float64, chosen []int) {
	next = slices.Repeat([]float64{math.Inf(-1)}, len(best))
	chosen = make([]int, len(best))
	for w := range max(1, len(j.Curve)) {
		value := j.Value(w)
		for c := w * j.Width; c < len(best); c++ {
			total := best[c-w*j.Width] + value
			if total > next[c] {
				next[c] = total
				chosen[c] = w
			}
		}
	}
	return next, chosen
}
