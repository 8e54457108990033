package loader

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Bounds on the reports of a job. Reports outside of them are ignored.
const (
	// MaxLoaders is the largest number of workers per device that is predicted or assigned.
	MaxLoaders = 64
	// maxStep is the longest duration of a step.
	maxStep = growth.Seconds(24 * 3600)
	// minRate and maxRate bound the throughput, in samples per second and device.
	minRate = 1e-6
	maxRate = 1e9
)

// Measurement is the throughput of a job over an interval in which neither workers nor batch size change.
type Measurement struct {
	// Loaders is the number of workers per device; 0 means that the job loaded in its own process.
	Loaders int `json:"loaders"`
	// Rate is the number of samples per second and device.
	Rate growth.PerSecond `json:"samplesPerSecond"`
	// Batch is the number of samples of a step.
	Batch int `json:"batch"`
	// Waiting is the fraction of a step in which the job waited for data.
	Waiting growth.Share `json:"waiting"`
}

// Measured converts the report of one step to a Measurement. step is the duration of the step, of which the job waited
// load seconds for data. Measured returns false for impossible values and for a load of exactly 0. A real wait is never
// exactly 0, so such a job does not measure it.
func Measured(loaders, samples int, step, load growth.Seconds) (Measurement, bool) {
	if samples <= 0 || !(step > 0 && step <= maxStep) || !(load > 0 && load <= step) {
		return Measurement{}, false
	}
	m := Measurement{
		Loaders: loaders,
		Rate:    growth.PerSecond(float64(samples) / float64(step)),
		Batch:   samples,
		Waiting: growth.Share(load / step),
	}
	return m, m.valid()
}

func (m Measurement) valid() bool {
	return m.Loaders >= 0 && m.Loaders <= MaxLoaders &&
		m.Rate >= minRate && m.Rate <= maxRate &&
		m.Waiting >= 0 && m.Waiting <= 1
}

// perSample returns the time per sample, in seconds.
func (m Measurement) perSample() float64 { return 1 / float64(m.Rate) }

// computeTime returns c of the package's model, in seconds per sample.
func (m Measurement) computeTime() float64 { return (1 - float64(m.Waiting)) * m.perSample() }

// loadTime returns y(w) of the package's model, in seconds per sample. exact is false if the interval only gives an
// upper bound.
func (m Measurement) loadTime() (y float64, exact bool) {
	if m.Loaders == 0 {
		return math.Max(float64(m.Waiting)*m.perSample(), 1/maxRate), true
	}
	return m.perSample(), m.Waiting >= computeBound
}

// inverse returns 1/w, the variable of the regression. Loading in the job's own process counts as one worker.
func inverse(loaders int) float64 { return 1 / math.Max(1, float64(loaders)) }
