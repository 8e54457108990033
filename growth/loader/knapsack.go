package loader

import (
	"math"
	"slices"
)

// knapsack solves the allocation for curves of any shape and jobs of any width: one group of choices per job, one
// choice per number of workers, O(jobs · cores · workers).
func knapsack(jobs []Job, budget int) Allocation {
	cores := 0
	for _, j := range jobs { // more than everybody could use changes nothing
		cores += j.Width * max(0, len(j.Curve)-1)
	}
	cores = min(cores, max(0, budget))

	best := slices.Repeat([]float64{math.Inf(-1)}, cores+1) // best[c]: the value of using exactly c cores
	best[0] = 0
	chosen := make([][]int, len(jobs))
	for i, j := range jobs {
		best, chosen[i] = withJob(j, best)
	}

	used := 0
	for c := range best {
		if best[c] > best[used] {
			used = c
		}
	}
	given := Allocation{}
	for i := len(jobs) - 1; i >= 0; i-- {
		w := chosen[i][used]
		given[jobs[i].UID] = w
		used -= w * jobs[i].Width
	}
	return given
}

// withJob extends the best values by one job, and says how many workers it has in each. On a tie it has the fewest.
func withJob(j Job, best []float64) (next []float64, chosen []int) {
	next, chosen = slices.Repeat([]float64{math.Inf(-1)}, len(best)), make([]int, len(best))
	for w := range max(1, len(j.Curve)) {
		value := j.Value(w)
		for c := w * j.Width; c < len(best); c++ {
			if total := best[c-w*j.Width] + value; total > next[c] {
				next[c], chosen[c] = total, w
			}
		}
	}
	return next, chosen
}
