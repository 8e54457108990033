package efficiency

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// ErrNotFinite is for a report whose metric is NaN or infinite: it says nothing.
var ErrNotFinite = errors.New("the metric is not a finite number")

// PerCoreSecond is an efficiency G in the metric's own unit: it compares a job with its own past, and in FlowCon's
// literal reading with others.
type PerCoreSecond float64

// State is what a tracker knows about a job's past, for whoever restarts and wants to go on.
type State struct {
	Smoothed  float64         `json:"smoothed"`
	Best      float64         `json:"best"`
	Last      float64         `json:"last"`
	Peak      PerCoreSecond   `json:"peak"`
	Growth    growth.Growth   `json:"growth"`
	Samples   int             `json:"samples"`
	LowStreak int             `json:"low"`
	Step      int64           `json:"step"`
	Category  growth.Category `json:"category"`
	// Gained is how much the best value has improved since the first, Noise the mean distance of a sample from the
	// smoothed metric, both in the metric's unit; Relapsed is for how many samples in a row the metric has been far
	// worse than its best.
	Gained        float64 `json:"gained,omitempty"`
	Noise         float64 `json:"noise,omitempty"`
	RelapseStreak int     `json:"relapsed,omitempty"`
}

// Tracker follows one job.
type Tracker struct {
	config    Config
	direction float64
	memory    State
	raw       PerCoreSecond
	progress  growth.PerSecond
	per       PerResource

	sum   float64 // of the reports since the last sample
	count int
	last  float64

	hasSample bool // at is known: a sample was taken by this tracker itself
	sampledAt time.Time
	usage     Usage
}

// Reading is what one tick made of a job.
type Reading struct {
	// Sampled is false when there was nothing to judge; all else is then as it was.
	Sampled bool
	// Samples is how many there are since the job (re)started. With fewer than two, growth is not known yet.
	Samples  int
	Growth   growth.Growth
	Category growth.Category
	// Raw is the unsmoothed |ΔE| per second and core: what FlowCon's thesis calls G.
	Raw PerCoreSecond
	// Progress is P, the improvement in the metric's unit per second, and Per the same over the use of each resource.
	Progress growth.PerSecond
	Per      PerResource
	// Reason says in words how the category came about.
	Reason string
}

// New follows a job from its start.
func New(config Config, direction growth.Direction) *Tracker {
	return Resume(config, direction, State{})
}

// Resume follows a job whose past is known. What is not valid in memory is forgotten.
func Resume(config Config, direction growth.Direction, memory State) *Tracker {
	if !memory.valid() {
		memory = State{}
	}
	if !memory.Category.Valid() {
		memory.Category = growth.Progressing
	}
	return &Tracker{config: config.withDefaults(), direction: float64(direction), memory: memory}
}

func (m State) valid() bool {
	return finite(m.Smoothed) && finite(m.Best) && finite(m.Last) && finite(float64(m.Peak)) && finite(float64(m.Growth)) &&
		finite(m.Gained) && finite(m.Noise) &&
		m.Peak >= 0 && m.Samples >= 0 && m.LowStreak >= 0 && m.Step >= 0 && m.Gained >= 0 && m.Noise >= 0 && m.RelapseStreak >= 0
}

// State returns what Resume needs.
func (t *Tracker) State() State { return t.memory }

// Category returns the present one.
func (t *Tracker) Category() growth.Category { return t.memory.Category }

// Report takes in one report. It tells whether the job has restarted since the one before.
func (t *Tracker) Report(step int64, value float64) (restarted bool, err error) {
	if !finite(value) {
		return false, ErrNotFinite
	}
	if restarted = step < t.memory.Step; restarted {
		t.Restart()
	}
	t.memory.Step = step
	t.sum += value
	t.count++
	t.last = value
	return restarted, nil
}

// Restart begins again with the smoothing and the best value, for a job whose container has.
func (t *Tracker) Restart() {
	t.memory.Samples, t.memory.LowStreak, t.memory.Step, t.memory.RelapseStreak = 0, 0, 0, 0
	t.sum, t.count, t.hasSample = 0, 0, false
}

// Tick makes a sample of the reports since the last one and judges it.
func (t *Tracker) Tick(now time.Time, usage Usage) Reading {
	elapsed := now.Sub(t.sampledAt).Seconds()
	switch {
	case t.count == 0:
		return t.reading(false, "no report since the last sample")
	case t.hasSample && elapsed <= 0:
		t.sampledAt = now
		return t.reading(false, "the clock has not advanced")
	}
	previous, used := t.memory, usage.since(t.usage, elapsed)
	relapse := t.addSample()
	judged := t.hasSample
	t.hasSample, t.sampledAt, t.usage = true, now, usage
	if !judged {
		return t.reading(true, "first sample: growth is not known yet")
	}
	cores := used.cores(t.config.MinCores)
	t.raw = PerCoreSecond(divide(math.Abs(t.memory.Last-previous.Last), elapsed, cores))
	if relapse != "" {
		return t.reading(true, relapse)
	}
	t.updateGrowth(previous.Best, elapsed, cores)
	t.per = used.efficiencies(t.progress)
	return t.reading(true, t.updateCategory())
}

// absorb smooths the window's mean in and keeps the best. It says so if what it sees is a relapse.
func (t *Tracker) addSample() (relapse string) {
	m, mean := &t.memory, t.sum/float64(t.count)
	t.sum, t.count = 0, 0
	m.Last = t.last
	m.Samples++
	if m.Samples == 1 {
		m.Smoothed, m.Best, m.Gained, m.Noise = mean, mean, 0, 0
		return ""
	}
	if m.updateRelapse(t.direction * (mean - m.Best)) {
		relapse = fmt.Sprintf("from %.4g at its best back to %.4g: measured anew from there", m.Best, mean)
		m.Smoothed, m.Best, m.Gained = mean, mean, 0
		return relapse
	}
	if m.RelapseStreak == 0 { // else it is not known yet whether this is noise
		m.Noise += noiseSmoothing * (math.Abs(mean-m.Smoothed) - m.Noise)
	}
	m.Smoothed += t.config.Smoothing * (mean - m.Smoothed)
	if gain := t.direction * (m.Best - m.Smoothed); gain > 0 {
		m.Best = m.Smoothed
		m.Gained += gain
	}
	return ""
}

// rounding is the part of a metric below which a difference is floating-point noise: a constant metric must not have
// a peak of one last digit.
const rounding = 1e-9

func (t *Tracker) updateGrowth(best, elapsed, cores float64) {
	m := &t.memory
	gain := t.direction * (best - m.Smoothed)
	if gain <= rounding*max(math.Abs(best), math.Abs(m.Smoothed)) {
		gain = 0
	}
	t.progress = growth.PerSecond(divide(gain, elapsed))
	efficiency := PerCoreSecond(divide(gain, elapsed, cores))
	m.Peak = max(PerCoreSecond(t.config.PeakDecay)*m.Peak, efficiency)
	m.Growth = 0
	if m.Peak > 0 {
		m.Growth = growth.Growth(efficiency / m.Peak)
	}
}

func (t *Tracker) updateCategory() string {
	m, c := &t.memory, t.config
	g := float64(m.Growth)
	switch {
	case g > c.ReturnFactor*c.Alpha:
		m.Category, m.LowStreak = growth.Progressing, 0
		return fmt.Sprintf("growth %.3f is above %.3f", g, c.ReturnFactor*c.Alpha)
	case g >= c.Alpha:
		m.LowStreak = 0
		return fmt.Sprintf("growth %.3f is between %.3f and %.3f: stays", g, c.Alpha, c.ReturnFactor*c.Alpha)
	}
	m.LowStreak++
	if m.LowStreak < c.LowSamples {
		return fmt.Sprintf("growth %.3f is below %.3f, %d of %d times", g, c.Alpha, m.LowStreak, c.LowSamples)
	}
	m.LowStreak, m.Category = 0, demote(m.Category)
	return fmt.Sprintf("growth %.3f was below %.3f for %d samples", g, c.Alpha, c.LowSamples)
}

func demote(c growth.Category) growth.Category {
	if c == growth.Progressing {
		return growth.Watching
	}
	return growth.Converged
}

func (t *Tracker) reading(sampled bool, reason string) Reading {
	m := t.memory
	return Reading{Sampled: sampled, Samples: m.Samples, Growth: m.Growth, Category: m.Category, Raw: t.raw, Progress: t.progress, Per: t.per, Reason: reason}
}

// over divides a number that is not negative by others that are positive. What a job reports may be as large as numbers get,
// and what comes of it must stay one.
func divide(number float64, by ...float64) float64 {
	for _, b := range by {
		number = min(number/b, math.MaxFloat64)
	}
	return number
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
