package history

import (
	"math"
	"slices"

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
		next.measurements = append(kept(h.measurements), m)
	}
	return next
}

// minKept is the number of measurements with the same workers that stay while others can be dropped.
const minKept = 3

// kept returns the measurements that stay when another is added, as a copy. If there are too many, the oldest goes. The last
// ones of each number of workers stay: a job that has found the workers that it needs runs with these for hours, and its
// model must not forget what fewer did.
func kept(all []loader.Measurement) []loader.Measurement {
	dropped := 0
	if len(all) < MaxMeasurements {
		return slices.Clip(all)
	}
	count := map[int]int{}
	for _, m := range all {
		count[m.Loaders]++
	}
	if i := slices.IndexFunc(all, func(m loader.Measurement) bool { return count[m.Loaders] > minKept }); i > 0 {
		dropped = i
	}
	return slices.Concat(all[:dropped], all[dropped+1:])
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
