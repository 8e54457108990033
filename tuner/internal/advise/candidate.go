package advise

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
	"github.com/trellis-gpu/trellis/growth/programs"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

const (
	// minMeasurements is the number of measurements required for a prediction: the first one is often taken while the
	// job warms up.
	minMeasurements = 2
	// maxPredicted is the largest predicted number of workers per device.
	maxPredicted = 32
	// minGrowth is the lower bound of a job's growth in the objective: a converged job keeps a small weight.
	minGrowth growth.Growth = 0.01
	// defaultRemaining is the assumed remaining time of a job that does not report its total steps.
	defaultRemaining growth.Seconds = 600
)

// candidate is a job that may get advice.
type candidate struct {
	history.Job
	model   loader.Model
	running loader.Running
}

func (a *Adviser) candidate(j history.Job, loaders int, now time.Time) candidate {
	c := candidate{Job: j, running: loader.Running{
		Job:         loader.Job{UID: j.UID, Width: processes(j)},
		Gang:        j.Sample.Gang,
		Loaders:     loaders,
		Advised:     advisesLoaders(j),
		Unchanged:   now.Sub(a.running[j.UID].since),
		Remaining:   remaining(*j.Sample, now),
		RebuildTime: j.RebuildTime,
	}}
	if measured := a.measured(j); len(measured) >= minMeasurements {
		c.model = loader.Fit(loader.Published(), measured)
		c.running.Weight = weight(*j.Sample, c.model)
		c.running.Curve = c.model.Curve(maxPredicted)
	}
	c.limit()
	return c
}

// measured returns the measurements of a job, after those of earlier jobs of its program.
func (a *Adviser) measured(j history.Job) []loader.Measurement {
	if a.Loaders == nil || j.Sample.Program == (programs.ID{}) {
		return j.Measurements
	}
	return slices.Concat(a.Loaders.Before(j.UID, j.Sample.Program), j.Measurements)
}

// weight returns the value of one sample per second: the job's growth divided by its maximum rate. A job at its maximum
// rate thus contributes its growth to the objective.
func weight(s bus.Sample, model loader.Model) loader.Weight {
	g := growth.Growth(1)
	if s.Reported {
		g = min(1, max(minGrowth, s.Growth))
	}
	return loader.Weight(float64(g) / float64(model.MaxRate()))
}

// processes returns the number of training processes, each with a DataLoader: as many as report, and at least one per
// device.
func processes(j history.Job) int { return min(max(1, len(j.Sample.GPUs), j.Sample.Ranks), 64) }

// remaining estimates the job's remaining time: by the steps that it still has to make, or else by the coordinator's
// estimate of its end.
func remaining(s bus.Sample, now time.Time) growth.Seconds {
	switch {
	case s.TotalSteps > 0 && s.StepSeconds > 0:
		return growth.Seconds(max(0, float64(s.TotalSteps)-float64(s.Steps()))) * s.StepSeconds
	case s.ETA != nil && s.ETA.Remaining.Known:
		left, _ := s.Left(now)
		return left
	}
	return defaultRemaining
}

// change returns the advice to use this number of workers. Its guard makes the write fail if the advice has changed.
func (c candidate) change(loaders int, reason string) Change {
	key := bus.AdviceKey(c.UID)
	change := Change{
		Job:    c.UID,
		Pod:    c.Sample.Pod,
		Advice: &bus.Advice{},
		Guard:  bus.Absent(key),
	}
	if c.Advice != nil {
		*change.Advice, change.Guard = *c.Advice, bus.Unchanged(key, c.AdviceRevision)
	}
	change.Advice.Generation = 1 + min(math.MaxInt64-1, max(change.Advice.Generation, c.Sample.Generation))
	change.Advice.Loaders = &loaders
	change.Advice.Reason = reason
	return change
}

// forecast describes the expected effect of the change for the user.
func (c candidate) forecast(loaders int) string {
	if len(c.running.Curve) == 0 {
		return "not measured yet"
	}
	return fmt.Sprintf("%.0f → %.0f samples/s predicted, %.0f if loading took no time, growth %.2f",
		c.model.Rate(c.running.Loaders), c.model.Rate(loaders), c.model.MaxRate(), c.Sample.Growth)
}
