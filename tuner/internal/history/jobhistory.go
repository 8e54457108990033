package history

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// MaxMeasurements is the number of measurements kept for a job.
const MaxMeasurements = 64

// jobHistory is the history of one job. Its slice is never modified, because snapshots share it.
type jobHistory struct {
	last         bus.Sample
	measurements []loader.Measurement
	shared       sharedMemory
	rebuild      rebuild
}

// updateHistories adds the samples of a view and drops jobs without a sample.
func updateHistories(histories map[growth.PodUID]jobHistory, view *bus.View[entry]) map[growth.PodUID]jobHistory {
	next := make(map[growth.PodUID]jobHistory, len(histories))
	for _, e := range view.Values {
		if e.sample != nil {
			next[e.key.Pod] = histories[e.key.Pod].add(*e.sample)
		}
	}
	return next
}

// add adds one sample. Adding the same sample again changes nothing.
func (h jobHistory) add(s bus.Sample) jobHistory {
	next := jobHistory{last: s, measurements: h.measurements, shared: h.shared, rebuild: h.rebuild.add(h.last, s)}
	if steady(h.last, s) && s.Step > h.last.Step {
		next.shared = h.shared.add(s)
	}
	if s.Step < h.last.Step { // the job restarted: its measurements stay valid, the interval measures nothing
		return next
	}
	if h.rebuild.settling { // the interval has the rebuild of the loaders
		return next
	}
	if m, ok := measurement(h.last, s); ok {
		recent := h.measurements[max(0, len(h.measurements)-MaxMeasurements+1):]
		next.measurements = append(recent[:len(recent):len(recent)], m)
	}
	return next
}

// measurement returns what the interval between two samples measured, if it is valid.
func measurement(before, s bus.Sample) (loader.Measurement, bool) {
	if !steady(before, s) || s.Step <= before.Step {
		return loader.Measurement{}, false
	}
	return loader.Measured(*s.Loaders, samplesPerStep(s), s.StepSeconds, s.LoadSeconds)
}

// samplesPerStep returns the batch size of one process, computed if the job does not report it.
func samplesPerStep(s bus.Sample) int {
	if s.BatchSize != nil {
		return *s.BatchSize
	}
	all := float64(s.SamplesPerSecond) * float64(s.StepSeconds)
	return int(math.Round(min(math.MaxInt32, all/float64(max(1, s.Ranks)))))
}

// steady reports whether the job ran with the same workers during the whole interval.
func steady(before, s bus.Sample) bool {
	return before.Loaders != nil && s.Loaders != nil && *before.Loaders == *s.Loaders && s.Applied >= s.Generation
}
