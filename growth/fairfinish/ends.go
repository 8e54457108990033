package fairfinish

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// End is when a job is expected to end, from now, if no further job arrives. Low and High bound 80 % of the ends, if the
// interval of the job's remaining work bounds 80 % of the works.
type End struct {
	Low    growth.Seconds
	Likely growth.Seconds
	High   growth.Seconds
	Known  bool
	// Due is when the work of the job's UserDeadline is done, Alone how long that work would take if the job got all that it can
	// use. Both are nil if the job has no deadline, or if the work is unknown.
	Due, Alone *deadline.Interval
}

// ends returns the ends of jobs whose work over time is f.
func ends(f forecast, jobs []Job, accounts []Account, cores float64) []End {
	all := make([]End, len(accounts))
	for i, a := range accounts {
		at, known := f.interval(i, a.Remaining, accounts, cores)
		if known {
			all[i] = End{Low: at.Low, Likely: at.Likely, High: at.High, Known: true}
		}
		if due, known := f.interval(i, jobs[i].Deadline.Work, accounts, cores); known && jobs[i].Deadline.declared() && a.Limit > 0 {
			work := jobs[i].Deadline.Work
			all[i].Due = &due
			all[i].Alone = &deadline.Interval{
				Low:    growth.Seconds(float64(work.Low) / a.Limit),
				Likely: growth.Seconds(float64(work.Likely) / a.Limit),
				High:   growth.Seconds(float64(work.High) / a.Limit),
			}
		}
	}
	return all
}

// interval returns when a job has done some work.
func (f forecast) interval(job int, work remaining.Estimate, accounts []Account, cores float64) (deadline.Interval, bool) {
	likely := f.timeAt(job, work.Likely)
	if !Sized(work) || math.IsInf(likely, 1) {
		return deadline.Interval{}, false
	}
	early := likely - f.timeAt(job, work.Low)
	late := float64(work.High-work.Likely) / f.speedBefore(job, likely)
	return deadline.Interval{
		Low:    growth.Seconds(math.Max(0, likely-math.Hypot(early, f.others(job, likely, accounts, cores, true)))),
		Likely: growth.Seconds(likely),
		High:   growth.Seconds(likely + math.Hypot(late, f.others(job, likely, accounts, cores, false))),
	}, true
}

// servedEarlier returns the lower bound of an end, given the interval for the order in which the policy serves the jobs now. That order
// depends on their targets: until these are known, a job that competes with others may be served first.
func (f forecast) servedEarlier(job int, at End, jobs []Job, accounts []Account) growth.Seconds {
	const part = 0.9 // a tenth of the ends may be before the interval
	a, doubt, competes := accounts[job], jobs[job].doubt(), false
	for k, other := range accounts {
		if k == job || other.Ended || !together(other, a) {
			continue
		}
		competes = true
		if Sized(other.Remaining) && f.timeAt(k, other.Remaining.Likely) <= float64(at.Likely) {
			doubt = max(doubt, jobs[k].doubt())
		}
	}
	if !competes || a.Limit <= 0 {
		return at.Low
	}
	first := growth.Seconds(float64(a.Remaining.Low) / a.Limit)
	order := part * doubt * float64(max(0, at.Likely-first))
	low := at.Likely - growth.Seconds(math.Hypot(float64(at.Likely-at.Low), order))
	return max(low, min(at.Low, first))
}

// doubt is how uncertain the work to the job's target is, 0..1. Similar jobs have shown it well enough.
func (j Job) doubt() float64 {
	switch t := j.ToTarget; {
	case j.TargetFromSimilar, t.Known && t.High <= 0:
		return 0
	case !t.Known:
		return 1
	default:
		return min(1, float64(t.High-t.Low)/float64(t.High))
	}
}

// speedBefore returns how fast a job works just before a time.
func (f forecast) speedBefore(job int, seconds float64) float64 {
	const moment = 0.01 // of the time
	before := seconds * (1 - moment)
	speed := (f.fairAt(job, seconds) - f.fairAt(job, before)) / (seconds - before)
	return math.Max(speed, epsilon)
}

// others returns by how much a job may end earlier or later because the jobs that end before it are smaller or larger than
// predicted. Their errors are independent. The sizes of jobs that end after it do not matter.
func (f forecast) others(job int, end float64, accounts []Account, cores float64, earlier bool) float64 {
	variance := 0.0
	for k, a := range accounts {
		if k == job || !Sized(a.Remaining) || !together(a, accounts[job]) || f.timeAt(k, a.Remaining.Likely) > end {
			continue
		}
		off := a.Remaining.High - a.Remaining.Likely
		if earlier {
			off = a.Remaining.Likely - a.Remaining.Low
		}
		capacity := cores
		if len(a.On) > 0 {
			capacity = a.width() * math.Max(1, a.Speedup)
		}
		variance += math.Pow(float64(off)/capacity, 2)
	}
	return math.Sqrt(variance)
}

// together reports whether two jobs compete: on a GPU, or for the cores.
func together(a, b Account) bool {
	return len(a.On) == 0 || slices.ContainsFunc(a.On, func(gpu growth.GPU) bool { return slices.Contains(b.On, gpu) })
}
