package efficiency

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// PerWork is an efficiency G in the metric's unit per growth.Work. It is comparable within one job only;
// FlowCon's literal reading also compares jobs by it.
type PerWork float64

// State is the persistent state of a Tracker. It survives a restart as JSON.
type State struct {
	// Smoothed is the smoothed metric, Best its best value, Last the last report, all in the metric's unit.
	Smoothed float64 `json:"smoothed"`
	Best     float64 `json:"best"`
	Last     float64 `json:"last"`
	// Peak is the decaying peak of G.
	Peak   PerWork       `json:"peak"`
	Growth growth.Growth `json:"growth"`
	// Samples counts samples since the last restart.
	Samples int `json:"samples"`
	// LowStreak counts consecutive low samples.
	LowStreak int             `json:"low"`
	Step      int64           `json:"step"`
	Category  growth.Category `json:"category"`
	// Gained is the improvement of the best value since the first sample, in the metric's unit.
	Gained float64 `json:"gained,omitempty"`
	// Noise is the mean distance of a sample from the smoothed metric, in the metric's unit.
	Noise float64 `json:"noise,omitempty"`
	// Jitter is the mean difference between consecutive reports, in the metric's unit.
	Jitter float64 `json:"jitter,omitempty"`
	Scale  Scale   `json:"scale,omitzero"`
	// RelapseStreak counts consecutive samples that are far worse than the best value.
	RelapseStreak int `json:"relapsed,omitempty"`
	// NotFinite describes a metric that is NaN or infinite.
	NotFinite NotFinite `json:"notFinite,omitzero"`
}

// Tracker follows one job.
type Tracker struct {
	config    Config
	direction float64
	state     State
	raw       PerWork
	progress  growth.PerSecond
	per       PerResource

	// Reports since the last sample. invalid counts those that are not finite.
	sum     float64
	count   int
	last    float64
	invalid int
	// hasReport is set if last is of this run of the job. rebased is set until the first sample after ResumeAt.
	hasReport, rebased bool
	lastStep           int64 // of last
	// held has reports that may be in another scale, rescaled the change that the last report has confirmed.
	held     []heldReport
	rescaled Rescaling

	// The last sample that this tracker took itself; valid if hasSample is set.
	hasSample bool
	sampledAt time.Time
	usage     Usage
}

// New returns a tracker for a new job.
func New(config Config, direction growth.Direction) *Tracker {
	return Resume(config, direction, State{})
}

// Resume returns a tracker that continues from a state. It discards an invalid state.
func Resume(config Config, direction growth.Direction, state State) *Tracker {
	if !state.valid() {
		state = State{}
	}
	if !state.Category.Valid() {
		state.Category = growth.Progressing
	}
	return &Tracker{config: config.withDefaults(), direction: float64(direction), state: state}
}

func (s State) valid() bool {
	for _, f := range []float64{s.Smoothed, s.Best, s.Last, float64(s.Peak), float64(s.Growth), s.Gained, s.Noise, s.Jitter} {
		if !finite(f) {
			return false
		}
	}
	return s.Peak >= 0 && s.Gained >= 0 && s.Noise >= 0 && s.Jitter >= 0 &&
		s.Samples >= 0 && s.LowStreak >= 0 && s.Step >= 0 && s.RelapseStreak >= 0 && s.NotFinite.valid() && s.Scale.valid()
}

// State returns the state for Resume.
func (t *Tracker) State() State { return t.state }

// Category returns the present category.
func (t *Tracker) Category() growth.Category { return t.state.Category }

// Report adds a report. It reports whether the job has restarted since the last one. It returns ErrNotFinite for a
// value that is NaN or infinite.
func (t *Tracker) Report(step int64, value float64) (restarted bool, err error) {
	if !finite(value) {
		t.addNotFinite(step, value)
		return false, ErrNotFinite
	}
	restarted = step < t.state.Step
	if restarted {
		t.Restart()
	}
	t.addFinite()
	t.state.Step = step
	if !t.hold(step, value) {
		t.add(step, value)
	}
	return restarted, nil
}

// add counts a finite report in the next sample.
func (t *Tracker) add(step int64, value float64) {
	if t.hasReport {
		t.state.addJitter(t.last, value)
		t.state.Scale.add(value, t.last, step-t.lastStep)
	}
	t.hasReport, t.lastStep = true, step
	t.sum += value
	t.count++
	t.last = value
}

// Restart resets smoothing and best value, for a job whose container has restarted.
func (t *Tracker) Restart() {
	t.state.Samples = 0
	t.state.LowStreak = 0
	t.state.Step = 0
	t.state.RelapseStreak = 0
	t.recover()
	t.sum = 0
	t.count = 0
	t.invalid = 0
	t.hasSample, t.hasReport, t.rebased = false, false, false
	t.held, t.rescaled = nil, Rescaling{}
	t.state.Scale = Scale{}
}

// Tick makes a sample of the reports since the last one and updates growth and category. While the metric is lost, an
// interval with a report is a low sample.
func (t *Tracker) Tick(now time.Time, usage Usage) Reading {
	invalid := t.invalid
	t.invalid = 0
	if f := t.state.NotFinite; f.Lasting {
		t.sum, t.count = 0, 0
		if invalid == 0 {
			return t.reading(false, "the metric is not finite, and there is no report since the last sample")
		}
		return t.reading(false, t.lose(f))
	}
	elapsed := now.Sub(t.sampledAt).Seconds()
	switch {
	case t.count == 0:
		return t.reading(false, "no report since the last sample")
	case t.hasSample && elapsed <= 0:
		t.sampledAt = now
		return t.reading(false, "the clock has not advanced")
	}
	previous, used := t.state, usage.since(t.usage, elapsed)
	relapse := t.addSample()
	first := !t.hasSample
	t.hasSample = true
	t.sampledAt = now
	t.usage = usage
	if first {
		return t.reading(true, "first sample: growth is not known yet")
	}
	cores := used.cores(t.config.MinCores)
	t.raw = PerWork(divide(math.Abs(t.state.Last-previous.Last), elapsed, cores))
	if relapse != "" {
		return t.reading(true, relapse)
	}
	t.updateGrowth(previous.Best, elapsed, cores)
	t.per = used.efficiencies(t.progress)
	return t.reading(true, t.updateCategory())
}

// addSample updates the smoothed metric and its best value. If the sample is a relapse, it returns the reason.
func (t *Tracker) addSample() (relapse string) {
	s, mean := &t.state, t.sum/float64(t.count)
	t.sum = 0
	t.count = 0
	s.Last = t.last
	s.Samples++
	if s.Samples == 1 {
		s.Smoothed, s.Best = mean, mean
		s.Gained, s.Noise = 0, 0
		return ""
	}
	if t.rebased { // the sample replaces the single report that ResumeAt had
		t.rebase(mean)
		t.rebased = false
		return ""
	}
	if s.updateRelapse(t.direction * (mean - s.Best)) {
		relapse = fmt.Sprintf("the metric fell back from %.4g to %.4g: growth is measured from there", s.Best, mean)
		s.Smoothed, s.Best = mean, mean
		s.Gained = 0
		return relapse
	}
	if s.RelapseStreak == 0 { // else it is unknown yet whether this is noise
		s.Noise += noiseSmoothing * (math.Abs(mean-s.Smoothed) - s.Noise)
	}
	s.Smoothed += t.config.Smoothing * (mean - s.Smoothed)
	if gain := t.direction * (s.Best - s.Smoothed); gain > 0 {
		s.Best = s.Smoothed
		s.Gained += gain
	}
	return ""
}

// rounding is the relative difference that is attributed to floating-point rounding. Without it, a constant metric
// could have a peak.
const rounding = 1e-9

func (t *Tracker) updateGrowth(best, elapsed, cores float64) {
	s := &t.state
	gain := t.direction * (best - s.Smoothed)
	if gain <= rounding*max(math.Abs(best), math.Abs(s.Smoothed)) {
		gain = 0
	}
	t.progress = growth.PerSecond(divide(gain, elapsed))
	efficiency := PerWork(divide(gain, elapsed, cores))
	s.Peak = max(PerWork(t.config.PeakDecay)*s.Peak, efficiency)
	s.Growth = 0
	if s.Peak > 0 {
		s.Growth = growth.Growth(efficiency / s.Peak)
	}
}

// divide divides a non-negative number by positive ones. It saturates, so that extreme reports stay finite.
func divide(number float64, by ...float64) float64 {
	for _, b := range by {
		number = min(number/b, math.MaxFloat64)
	}
	return number
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
