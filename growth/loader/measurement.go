package loader

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Bounds on what is believed of a job's own report.
const (
	// MaxLoaders is the most workers per device that are predicted for or given.
	MaxLoaders = 64
	maxStep    = growth.Seconds(24 * 3600)
	minRate    = 1e-6
	maxRate    = 1e9
)

// Measurement is what a job showed over an interval in which nothing changed.
type Measurement struct {
	// Loaders are the workers per device it ran with; 0 means it loaded by itself.
	Loaders int
	// Rate is samples per second of stepping, per device.
	Rate growth.PerSecond
	// Waiting is the part of a step spent waiting for data.
	Waiting growth.Share
}

// Measured makes a measurement of a step that trained samples in step seconds, load of them spent waiting. It reports
// false for what can not be true, as jobs report what they like; and where load is exactly 0, because no wait is: such
// a job does not tell its loading apart.
func Measured(loaders, samples int, step, load growth.Seconds) (Measurement, bool) {
	if loaders < 0 || loaders > MaxLoaders || samples <= 0 || !(step > 0 && step <= maxStep) || !(load > 0 && load <= step) {
		return Measurement{}, false
	}
	m := Measurement{Loaders: loaders, Rate: growth.PerSecond(float64(samples) / float64(step)), Waiting: growth.Share(load / step)}
	return m, m.valid()
}

func (m Measurement) valid() bool {
	return m.Loaders >= 0 && m.Loaders <= MaxLoaders && m.Rate >= minRate && m.Rate <= maxRate && m.Waiting >= 0 && m.Waiting <= 1
}

// perSample is the time of one sample, in seconds.
func (m Measurement) perSample() float64 { return 1 / float64(m.Rate) }

// computing is c as this interval saw it.
func (m Measurement) computeTime() float64 { return (1 - float64(m.Waiting)) * m.perSample() }

// loading is y(w) as this interval saw it. exact is false where only an upper bound could be seen.
func (m Measurement) loadTime() (y float64, exact bool) {
	if m.Loaders == 0 {
		return math.Max(float64(m.Waiting)*m.perSample(), 1/maxRate), true
	}
	return m.perSample(), m.Waiting >= computeBound
}

// inverse is x = 1/w, the regression's variable; loading by oneself counts as one worker.
func inverse(loaders int) float64 { return 1 / math.Max(1, float64(loaders)) }
