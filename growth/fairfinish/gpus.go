package fairfinish

import (
	"maps"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// GPUs differ from cores in one respect: a job uses its own GPUs and no others. A job on several GPUs uses all of them at
// the same time, and in one second of its turn it does as many GPU-seconds of work. Plain sharing, the reference, divides
// the time of each GPU equally among the jobs that have work for it. A job on several GPUs is as fast as on the slowest.
//
// A plan is feasible if it is feasible on each GPU. That is exact for one GPU, and for jobs on several GPUs unless three or
// more of them overlap in a circle.

// width returns the number of GPUs that the job uses at the same time; 1 if cores are divided.
func (a Account) width() float64 { return float64(max(1, len(a.On))) }

func onGPUs(accounts []Account) bool {
	return slices.ContainsFunc(accounts, func(a Account) bool { return len(a.On) > 0 })
}

// inUnit replaces predictions in another unit by unknown ones.
func inUnit(jobs []Job, unit growth.Unit) []Job {
	other := func(j Job) bool {
		return j.Remaining.Unit != unit || j.ToTarget.Unit != unit || j.Deadline.Work.Unit != unit
	}
	if !slices.ContainsFunc(jobs, other) {
		return jobs
	}
	jobs = slices.Clone(jobs)
	for i, j := range jobs {
		jobs[i].Remaining, jobs[i].ToTarget = j.Remaining.In(unit), j.ToTarget.In(unit)
		jobs[i].Deadline.Work = j.Deadline.Work.In(unit)
	}
	return jobs
}

// gpuRates returns the rates of jobs on GPUs under weighted processor sharing, in GPU-seconds per second. All rates rise in
// proportion to the weights. The rate of a job stops to rise at its limit, and when one of its GPUs is busy all the time.
// Where kernels overlap they are those that were measured (overlap.go).
func gpuRates(accounts []Account) []float64 {
	if rates, known := overlappingRates(accounts); known {
		return rates
	}
	rates := make([]float64, len(accounts))
	free := speedups(accounts)
	busy := map[growth.GPU]float64{}
	rising := make([]int, len(accounts))
	for i := range rising {
		rising[i] = i
	}
	for len(rising) > 0 {
		slopes := map[growth.GPU]float64{}
		rise := math.Inf(1)
		for _, i := range rising {
			a := accounts[i]
			rise = min(rise, (a.Limit-rates[i])/a.Weight)
			for _, gpu := range a.On {
				slopes[gpu] += a.Weight / a.width()
			}
		}
		for gpu, slope := range slopes {
			rise = min(rise, (free[gpu]-busy[gpu])/slope)
		}
		rise = max(rise, 0)
		for _, i := range rising {
			rates[i] += rise * accounts[i].Weight
		}
		for gpu, slope := range slopes {
			busy[gpu] += rise * slope
		}
		rising = slices.DeleteFunc(rising, func(i int) bool {
			a := accounts[i]
			full := func(gpu growth.GPU) bool { return busy[gpu] > free[gpu]-epsilon }
			return rates[i] > a.Limit-epsilon || slices.ContainsFunc(a.On, full)
		})
	}
	return rates
}

// speedups returns the work of each GPU per second: at least one GPU-second.
func speedups(accounts []Account) map[growth.GPU]float64 {
	of := map[growth.GPU]float64{}
	for _, a := range accounts {
		for _, gpu := range a.On {
			of[gpu] = max(of[gpu], a.Speedup, 1)
		}
	}
	return of
}

func sharesGPU(a, b Account) bool {
	return slices.ContainsFunc(a.On, func(gpu growth.GPU) bool { return slices.Contains(b.On, gpu) })
}

// placement returns the GPUs of each job; nil if cores are divided.
func (t *instance) placement() [][]growth.GPU {
	if !onGPUs(t.accounts) {
		return nil
	}
	on := make([][]growth.GPU, len(t.accounts))
	for i, a := range t.accounts {
		on[i] = a.On
	}
	return on
}

// capacity returns the most work that a job could do in one second if it were alone.
func (t *instance) capacity(job int) float64 {
	if on := t.accounts[job].On; len(on) > 0 {
		return float64(len(on))
	}
	return t.cores
}

// shares turns the work until the horizon into shares.
func (t *instance) shares(work []float64) []float64 {
	sum, busy := 0.0, map[growth.GPU]float64{}
	for i, w := range work {
		sum += w
		for _, gpu := range t.accounts[i].On {
			busy[gpu] += w / t.accounts[i].width()
		}
	}
	if len(busy) > 0 {
		sum = slices.Max(slices.Collect(maps.Values(busy)))
	}
	shares := make([]float64, len(work))
	for i, w := range work {
		shares[i] = w / t.accounts[i].width() / sum
	}
	return shares
}

const (
	// gpuHeadroom is the factor by which the limit of a job on GPUs exceeds what it used while it did not wait. The times
	// of turns are exact.
	gpuHeadroom = 1.02
	// minTime is the least time without waiting, in seconds, from which a limit is learned.
	minTime = 0.05
	// A limit is the mean over the last mostEvidence seconds without waiting. Older ones count half after evidenceHalfLife
	// seconds: a job with a small share is seldom seen without waiting, and may have changed.
	mostEvidence, evidenceHalfLife = 10, 30
)

// learnUsable updates the fraction of time in which a job can use its GPUs, times their number. It is what the job used in
// the time without waiting. From the short moments in which a job with a small share does not wait, the limit would jump, and
// the shares of all others with it; so would that of a job that starts, saves or evaluates. The limit of a job that has never
// used its GPUs is not known.
func (a *Account) learnUsable(seconds, used, wait float64) {
	free := (1 - wait) * seconds
	if free < minTime || used == 0 && a.UsableCores == 0 {
		return
	}
	if a.UsableCores == 0 {
		a.UsableCores = a.width()
	}
	if a.Evidence == 0 { // a new limit, or one that an earlier release has learned
		a.Evidence = mostEvidence
	}
	a.Evidence = min(a.Evidence*math.Exp2(-seconds/evidenceHalfLife), mostEvidence) + free
	alone := min(gpuHeadroom*used/(1-wait), a.width())
	a.UsableCores = max(a.UsableCores+(alone-a.UsableCores)*free/a.Evidence, a.width()/100)
}

// gpus returns the GPUs of all jobs.
func (p *plan) gpus() []growth.GPU {
	all := slices.Concat(p.on...)
	slices.Sort(all)
	return slices.Compact(all)
}

// deficitOf returns the amount of work of one job without which its GPUs could do all work in time.
func (p *plan) deficitOf(job int) float64 {
	if p.on == nil {
		return p.pooled()
	}
	return float64(len(p.on[job])) * p.largestDeficit(p.on[job])
}

// largestDeficit returns the largest deficit of single GPUs, in seconds.
func (p *plan) largestDeficit(gpus []growth.GPU) (largest float64) {
	for _, gpu := range gpus {
		one := plan{cores: max(1, p.speedups[gpu]), lengths: p.lengths}
		for i, on := range p.on {
			if !slices.Contains(on, gpu) {
				continue
			}
			width := float64(len(on))
			due := make([]float64, len(p.due[i]))
			for s, work := range p.due[i] {
				due[s] = work / width
			}
			one.due, one.limits = append(one.due, due), append(one.limits, p.limits[i]/width)
		}
		largest = max(largest, one.pooled())
	}
	return largest
}
