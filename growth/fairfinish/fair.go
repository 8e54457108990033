package fairfinish

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// rates divides cores fairly: everyone in proportion to its weight, nobody more than its limit, and what a limit leaves
// over to the others.
func fairRates(accounts []Account, cores float64) []float64 {
	order := make([]int, len(accounts))
	weights := 0.0
	for i, a := range accounts {
		order[i] = i
		weights += a.Weight
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := accounts[i], accounts[j]
		switch l, r := a.Limit*b.Weight, b.Limit*a.Weight; {
		case l < r:
			return -1
		case l > r:
			return 1
		}
		return i - j
	})
	got := make([]float64, len(accounts))
	for _, i := range order { // whoever reaches its limit first
		a := accounts[i]
		got[i] = min(a.Limit, cores*a.Weight/weights)
		cores -= got[i]
		weights -= a.Weight
	}
	return got
}

// share lets fair sharing go on for some seconds on what the node really had: Fair grows, and who reaches its size leaves.
func (s State) advanceFair(cores, seconds float64) {
	for seconds > epsilon {
		ids, accounts := s.sorted(Account.active)
		if len(ids) == 0 {
			return
		}
		got := fairRates(accounts, cores)
		step := seconds
		for i, a := range accounts {
			_, size := a.size()
			step = min(step, float64(size-a.FairWork)/got[i])
		}
		for i, a := range accounts {
			a.FairWork += growth.CoreSeconds(got[i] * step)
			if _, size := a.size(); a.FairWork > size-epsilon && !math.IsInf(float64(size), 1) {
				a.FairWork = size
			}
			s.Accounts[ids[i]] = a
		}
		seconds -= step
	}
}
