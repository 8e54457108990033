package fairfinish

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// forecast is a simulation of fair sharing from now on, without further arrivals. Times are in seconds from now.
type forecast struct {
	// times are the times at which rates change, starting with 0. After the last one, only jobs of unknown size run.
	times []float64
	// fair is the FairWork of each job at these times.
	fair [][]float64
	// rate is how fast each job's FairWork increases after the last time, in cores.
	rate []float64
}

// newForecast simulates fair sharing until all jobs of known size have ended. Jobs that load start at once.
func newForecast(accounts []Account, cores float64) forecast {
	return forecastFrom(accounts, cores, func(Account) float64 { return 0 })
}

// forecastFrom is a forecast in which each account takes part from some time on.
func forecastFrom(accounts []Account, cores float64, starts func(Account) float64) forecast {
	f := forecast{
		times: []float64{0},
		fair:  make([][]float64, len(accounts)),
		rate:  make([]float64, len(accounts)),
	}
	active := make([]int, 0, len(accounts)) // indices
	for i, a := range accounts {
		f.fair[i] = append(f.fair[i], float64(a.FairWork))
		if a.active() {
			active = append(active, i)
		}
	}
	for now := 0.0; ; {
		clear(f.rate)
		var running []Account
		var indices []int
		step, ends := math.Inf(1), -1
		for _, i := range active {
			if wait := starts(accounts[i]) - now; wait > epsilon {
				step = min(step, wait)
				continue
			}
			running, indices = append(running, accounts[i]), append(indices, i)
		}
		rates := fairRates(running, cores)
		for k, i := range indices {
			f.rate[i] = rates[k]
			_, size := accounts[i].size()
			if left := (float64(size) - f.last(i)) / rates[k]; left < step {
				step, ends = left, i
			}
		}
		if math.IsInf(step, 1) {
			return f
		}
		now += step
		f.times = append(f.times, now)
		for i := range accounts {
			f.fair[i] = append(f.fair[i], f.last(i)+f.rate[i]*step)
		}
		active = slices.DeleteFunc(active, func(i int) bool {
			_, size := accounts[i].size()
			return i == ends || f.last(i) >= float64(size)-epsilon // i == ends: rounding must not keep it active
		})
	}
}

func (f forecast) last(job int) float64 { return f.fair[job][len(f.fair[job])-1] }

// fairAt returns the job's FairWork at a time. Negative times extrapolate the present rate.
func (f forecast) fairAt(job int, seconds float64) float64 {
	k, _ := slices.BinarySearch(f.times, seconds)
	k = max(k, 1)
	if k == len(f.times) {
		return f.last(job) + f.rate[job]*(seconds-f.times[k-1])
	}
	part := (seconds - f.times[k-1]) / (f.times[k] - f.times[k-1])
	return f.fair[job][k-1] + part*(f.fair[job][k]-f.fair[job][k-1])
}

// timeAt returns the time at which the job's FairWork reaches an amount of work; infinite if it never does.
func (f forecast) timeAt(job int, work growth.Work) float64 {
	target := float64(work) - epsilon
	k, _ := slices.BinarySearch(f.fair[job], target)
	switch {
	case k == 0:
		return 0
	case k < len(f.fair[job]):
		from, to := f.fair[job][k-1], f.fair[job][k]
		return f.times[k-1] + (f.times[k]-f.times[k-1])*(target-from)/(to-from)
	case f.rate[job] > 0:
		return f.times[k-1] + (target-f.last(job))/f.rate[job]
	}
	return math.Inf(1)
}
