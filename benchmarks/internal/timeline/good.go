package timeline

import (
	"math"
	"slices"
	"time"
)

const (
	// most is the part of its way that a metric has made when the model counts as good: what comes after is polish.
	most = 0.95
	// near is over how many reports a value is smoothed, final how many of the last ones say where the metric went.
	near, final = 5, 10
)

// GoodAfter is the time from a job's submission until its metric had made 95 % of its way from the first report to the last
// ones; zero for a job that told too little. It goes by all that the job has said where that is known, else by what was seen of
// it at each look, which is little of a job that had a core for itself.
func (t *Timeline) GoodAfter(name string) time.Duration {
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
	if i, ok := GoodAt(values); ok {
		return at[i].Sub(submitted)
	}
	return 0
}

// GoodAt is the first of a metric's reports from which on it, smoothed, has made 95 % of its way from the first to the last ones.
func GoodAt(values []float64) (report int, ok bool) {
	first, last := values[0], median(values[max(0, len(values)-final):])
	for i := range values {
		if (first-median(values[i:min(i+near, len(values))]))/(first-last) >= most {
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

// Good compares the mean time until a job's metric was good, over the jobs of which that is known in both runs.
func (t *Timeline) Good(other *Timeline) Difference {
	d, both := Difference{Job: "mean to 95 %"}, time.Duration(0)
	for _, job := range t.Last().Jobs {
		if here, there := t.GoodAfter(job.Name), other.GoodAfter(job.Name); here > 0 && there > 0 {
			d.Completion, d.Other, both = d.Completion+here, d.Other+there, both+1
		}
	}
	if both > 0 {
		d.Completion, d.Other = d.Completion/both, d.Other/both
	}
	return d
}
