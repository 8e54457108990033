package fairfinish

import "github.com/trellis-gpu/trellis/growth"

// TimeShares returns the fraction of time in which each job uses its GPUs if these fractions are in proportion to weights
// where the jobs have GPUs in common. No GPU is idle that a job could use. on has the GPUs of each job.
func TimeShares(weights []float64, on [][]growth.GPU) []growth.Share {
	limits := make([]growth.Share, len(weights))
	for i := range limits {
		limits[i] = 1
	}
	return LimitedTimeShares(weights, limits, on)
}

// LimitedTimeShares is TimeShares for jobs that use their GPUs for at most a fraction of the time. The others share the rest.
func LimitedTimeShares(weights []float64, limits []growth.Share, on [][]growth.GPU) []growth.Share {
	accounts := make([]Account, len(weights))
	for i, weight := range weights {
		width := float64(len(on[i]))
		accounts[i] = Account{
			Weight: max(weight, epsilon) * width,
			Limit:  max(float64(limits[i]), epsilon) * width,
			On:     on[i],
		}
	}
	shares := make([]growth.Share, len(weights))
	for i, rate := range gpuRates(accounts) {
		shares[i] = growth.Share(rate / accounts[i].width())
	}
	return shares
}
