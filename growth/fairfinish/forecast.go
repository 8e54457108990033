package fairfinish

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// forecast is what fair sharing will do if nobody arrives.
type forecast struct {
	// times at which its rates change, in seconds from now, the first 0. After the last nobody is left whose end is known.
	times []float64
	// fair is each job's Fair at those times, and rate what it grows by per second after the last.
	fair [][]float64
	rate []float64
}

// foresee lets the jobs that are active under fair sharing run out.
func newForecast(accounts []Account, cores float64) forecast {
	f := forecast{times: []float64{0}, fair: make([][]float64, len(accounts)), rate: make([]float64, len(accounts))}
	left := make([]int, 0, len(accounts)) // by index
	for i, a := range accounts {
		f.fair[i] = append(f.fair[i], float64(a.FairWork))
		if a.active() {
			left = append(left, i)
		}
	}
	for at := 0.0; ; {
		clear(f.rate)
		running := make([]Account, len(left))
		for k, i := range left {
			running[k] = accounts[i]
		}
		got := fairRates(running, cores)
		step := math.Inf(1)
		for k, i := range left {
			f.rate[i] = got[k]
			_, size := accounts[i].size()
			step = min(step, (float64(size)-f.last(i))/got[k])
		}
		if math.IsInf(step, 1) {
			return f
		}
		at += step
		f.times = append(f.times, at)
		for i := range accounts {
			f.fair[i] = append(f.fair[i], f.last(i)+f.rate[i]*step)
		}
		left = slices.DeleteFunc(left, func(i int) bool {
			_, size := accounts[i].size()
			return f.last(i) >= float64(size)-epsilon
		})
	}
}

func (f forecast) last(job int) float64 { return f.fair[job][len(f.fair[job])-1] }

// at is the job's Fair some seconds from now. Before now, which is a negative time, it is thought to have grown as it does.
func (f forecast) fairAt(job int, seconds float64) float64 {
	k, _ := slices.BinarySearch(f.times, seconds)
	k = max(k, 1)
	if k == len(f.times) {
		return f.last(job) + f.rate[job]*(seconds-f.times[k-1])
	}
	part := (seconds - f.times[k-1]) / (f.times[k] - f.times[k-1])
	return f.fair[job][k-1] + part*(f.fair[job][k]-f.fair[job][k-1])
}

// when is the time at which the job's Fair reaches work; infinite if it never does.
func (f forecast) timeAt(job int, work growth.CoreSeconds) float64 {
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
