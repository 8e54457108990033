package workload

import (
	"math"
	"math/rand/v2"
	"time"
)

// Arrivals returns n times of arrival, the first of which is 0. They are as bursty as 300 jobs of Microsoft's Philly trace that
// IADeep (SC'23) replays a thousand times faster, within 4,001 s. Gaps are independent, with the quantiles of that replay.
func Arrivals(n int, seed uint64) []time.Duration {
	dice := rand.New(rand.NewPCG(seed, 1))
	arrivals := make([]time.Duration, n)
	for i := 1; i < n; i++ {
		arrivals[i] = arrivals[i-1] + time.Duration(gap(dice.Float64())*float64(time.Second))
	}
	return arrivals
}

// gap returns a quantile of the time between two arrivals, in seconds: median 0.66, 53.5 % below 1, 67.9 % below 5, at most
// 257.9. The exponent of the last part gives the replay's mean, 13.4, and its coefficient of variation, 2.65.
func gap(quantile float64) float64 {
	const half, one, five, last = 0.5, 0.535, 0.679, 1
	within := func(from, to float64) float64 { return (quantile - from) / (to - from) }
	switch {
	case quantile < half:
		return 0.66 * within(0, half)
	case quantile < one:
		return 0.66 + 0.34*within(half, one)
	case quantile < five:
		return math.Pow(5, within(one, five))
	}
	return 5 * math.Pow(257.9/5, math.Pow(within(five, last), 2))
}
