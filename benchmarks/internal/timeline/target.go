package timeline

import (
	"math"
	"slices"
	"time"
)

const (
	// targetFraction is the fraction of the metric's whole improvement at which the target is reached.
	targetFraction = 0.95
	// near is the number of reports in the moving median. final is the number of last reports whose median is the final value.
	near, final = 5, 10
)

// TimeToTarget returns the time from a job's submission until its metric had made 95 % of its improvement. It returns
// zero for a job with too few reports. It uses the reports in the job's log if there are any, otherwise the readings,
// which miss most reports of a job that runs alone.
func (t *Timeline) TimeToTarget(name string) time.Duration {
	var at []time.Time
	var values []float64
	var submitted time.Time
	for _, r := range t.Readings {
		job, ok := r.Job(name)
		if !ok {
			continue
		}
		submitted = job.Submitted
		if t.Reports[name] == nil && job.Reported && (len(values) == 0 || values[len(values)-1] != job.Value) {
			at, values = append(at, r.At), append(values, job.Value)
		}
	}
	for _, report := range t.Reports[name] {
		at, values = append(at, report.At), append(values, report.Value)
	}
	if len(values) < 2*final || submitted.IsZero() {
		return 0
	}
	if i, ok := TargetReached(values); ok {
		return at[i].Sub(submitted)
	}
	return 0
}

// TargetReached returns the index of the first report at which the moving median of the metric has made 95 % of the
// improvement from the first report to the last ones.
func TargetReached(values []float64) (report int, ok bool) {
	first, last := values[0], median(values[max(0, len(values)-final):])
	for i := range values {
		if (first-median(values[i:min(i+near, len(values))]))/(first-last) >= targetFraction {
			return i, true
		}
	}
	return 0, false
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return math.NaN()
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// TargetAgainst compares the mean time to the target, over the jobs for which both runs have it.
func (t *Timeline) TargetAgainst(other *Timeline) Difference {
	d, both := Difference{Job: "mean to 95 %"}, time.Duration(0)
	for _, job := range t.Last().Jobs {
		if here, there := t.TimeToTarget(job.Name), other.TimeToTarget(job.Name); here > 0 && there > 0 {
			d.Completion, d.Other, both = d.Completion+here, d.Other+there, both+1
		}
	}
	if both > 0 {
		d.Completion, d.Other = d.Completion/both, d.Other/both
	}
	return d
}
