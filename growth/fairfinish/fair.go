package fairfinish

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// fairRates returns the cores of each job under weighted processor sharing with limits: in proportion to the weights,
// at most the limit of each job. What a limit leaves unused goes to the other jobs.
func fairRates(accounts []Account, cores float64) []float64 {
	if onGPUs(accounts) {
		return gpuRates(accounts)
	}
	order := make([]int, len(accounts))
	weights := 0.0
	for i, a := range accounts {
		order[i] = i
		weights += a.Weight
	}
	// Jobs that reach their limit first come first.
	slices.SortFunc(order, func(i, j int) int {
		a, b := accounts[i], accounts[j]
		return cmp.Or(cmp.Compare(a.Limit*b.Weight, b.Limit*a.Weight), i-j)
	})
	rates := make([]float64, len(accounts))
	for _, i := range order {
		a := accounts[i]
		rates[i] = min(a.Limit, cores*a.Weight/weights)
		cores -= rates[i]
		weights -= a.Weight
	}
	return rates
}

// advanceFair simulates fair sharing for some seconds with the capacity that the jobs really had. FairWork grows, and a
// job that reaches its size ends.
func (s State) advanceFair(cores, seconds float64) {
	for seconds > epsilon {
		ids, accounts := s.sorted(Account.shares)
		step := min(seconds, s.nextStart())
		rates := fairRates(accounts, cores)
		for i, a := range accounts {
			_, size := a.size()
			step = min(step, float64(size-a.FairWork)/rates[i])
		}
		for i, a := range accounts {
			a.FairWork += growth.Work(rates[i] * step)
			_, size := a.size()
			if a.FairWork > size-epsilon && !math.IsInf(float64(size), 1) {
				a.FairWork = size
			}
			s.Accounts[ids[i]] = a
		}
		s.passOver(step)
		seconds -= step
	}
}
