package elastic

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Range bounds the number of workers of a job.
type Range struct {
	Low  int `json:"low"`
	High int `json:"high"`
}

// MaxWorkers is the largest number of workers.
const MaxWorkers = 64

// Valid reports whether the range is within bounds.
func (r Range) Valid() bool { return r.Low >= 1 && r.Low <= r.High && r.High <= MaxWorkers }

// Measured is the throughput of a whole job at a number of workers.
type Measured struct {
	Workers int              `json:"workers"`
	Rate    growth.PerSecond `json:"samplesPerSecond"`
}

// maxRate bounds a throughput.
const maxRate growth.PerSecond = 1e12

// Finite reports whether JSON can represent the measurement.
func (m Measured) Finite() bool {
	return !math.IsNaN(float64(m.Rate)) && !math.IsInf(float64(m.Rate), 0)
}

func (m Measured) valid() bool {
	return m.Workers >= 1 && m.Workers <= MaxWorkers && m.Rate > 0 && m.Rate <= maxRate
}

// Job is what is known about a job.
type Job struct {
	Range   Range
	Workers int
	// Measured are throughputs at any numbers of workers.
	Measured []Measured
	// Remaining is the time to the end of the job at its present width; not positive if unknown.
	Remaining growth.Seconds
	// Cost is the time that a change takes: saving, restarting, loading.
	Cost growth.Seconds
	// Changes is the number of changes that were recommended before.
	Changes int
	// Recommended is the number of workers that is recommended at present; 0 for none.
	Recommended int
}

const (
	// MaxChanges bounds the recommended changes of a job.
	MaxChanges = 2
	// minGain is the part of the remaining time that a change must save.
	minGain = 0.1
	// minAdded is what a worker must add, relative to one worker alone.
	minAdded = 0.5
)

// Recommendation is a number of workers for a job.
type Recommendation struct {
	Workers int `json:"workers"`
	// From is the number that the job had then. For a job with another number it says nothing.
	From int `json:"from,omitempty"`
	// Reason explains it to users, in one sentence.
	Reason string `json:"reason"`
}

// Recommend returns a better number of workers; false if the present one should stay. The number that is recommended at present stays
// as long as it saves any time, so that it does not come and go with each estimate.
func Recommend(j Job) (Recommendation, bool) {
	r, ok := j.better()
	if !ok || r.Workers != j.Recommended && j.Changes >= MaxChanges {
		return Recommendation{}, false
	}
	return r, true
}

func (j Job) better() (Recommendation, bool) {
	if !j.Range.Valid() || j.Workers < 1 || j.Workers > MaxWorkers || !(j.Remaining > 0) || !(j.Cost >= 0) {
		return Recommendation{}, false
	}
	s := fit(j.Measured)
	best := min(max(j.Workers, j.Range.Low), j.Range.High)
	for best < j.Range.High && s.cautious().added(best+1) >= minAdded {
		best++
	}
	for best > j.Range.Low && s.hopeful().added(best) < minAdded {
		best--
	}
	switch {
	case best > j.Workers:
		return j.wider(best, s)
	case best < j.Workers:
		slower := s.speed(j.Workers)/s.speed(best) - 1
		return Recommendation{best, j.Workers, fmt.Sprintf("%d → %d workers: the job takes %.0f %% longer, and leaves %d workers' GPUs to others, %s",
			j.Workers, best, 100*slower, j.Workers-best, s.source())}, true
	}
	return Recommendation{}, false
}

// wider recommends more workers if that pays.
func (j Job) wider(workers int, s scaling) (Recommendation, bool) {
	saved := func(s scaling) float64 {
		return float64(j.Remaining)*(1-s.speed(j.Workers)/s.speed(workers)) - float64(j.Cost)
	}
	least := minGain * float64(j.Remaining)
	if workers == j.Recommended {
		least = 0
	}
	if saved(s.cautious()) < least {
		return Recommendation{}, false
	}
	return Recommendation{workers, j.Workers, fmt.Sprintf("%d → %d workers: the job is expected to end %s earlier (at least %s), a restart of %s included, %s",
		j.Workers, workers, duration(saved(s)), duration(saved(s.cautious())), duration(float64(j.Cost)), s.source())}, true
}

func duration(seconds float64) time.Duration {
	return growth.Seconds(math.Round(seconds)).Duration()
}
