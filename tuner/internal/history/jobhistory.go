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
	// resizing is set until the interval after a change of the batch size has been added: its workers may have loaded batches of both sizes.
	resizing bool
}

// updateHistories adds the samples of a batch to the histories, and drops those of jobs without a sample. view is that after the
// batch. It returns how many jobs have come and gone, in all.
func updateHistories(histories map[growth.PodUID]jobHistory, view *bus.View[*entry], batch bus.Batch) (turnover int) {
	remove := func(uid growth.PodUID) {
		if _, known := histories[uid]; known {
			delete(histories, uid)
			turnover++
		}
	}
	if batch.Reset {
		for uid := range histories {
			if e := view.Values[bus.SampleKey(uid)]; e == nil || e.sample == nil {
				remove(uid)
			}
		}
	}
	for _, key := range batch.Deleted {
		if k, err := bus.ParseKey(key); err == nil && k.Kind == bus.KindSample {
			remove(k.Pod)
		}
	}
	for _, changed := range batch.Entries {
		e := view.Values[changed.Key]
		switch {
		case e != nil && e.sample != nil:
			before, known := histories[e.key.Pod]
			if !known {
				turnover++
			}
			histories[e.key.Pod] = before.add(*e.sample)
		case e == nil: // it could not be decoded
			if k, err := bus.ParseKey(changed.Key); err == nil && k.Kind == bus.KindSample {
				remove(k.Pod)
			}
		}
	}
	return turnover
}

// add adds one sample. Adding the same sample again changes nothing.
func (h jobHistory) add(s bus.Sample) jobHistory {
	next := jobHistory{last: s, measurements: h.measurements, shared: h.shared, rebuild: h.rebuild.add(h.last, s), resizing: h.resized(s)}
	if steady(h.last, s) && s.Steps() > h.last.Steps() {
		next.shared = h.shared.add(s)
	}
	if s.Steps() < h.last.Steps() { // the job restarted: its measurements stay valid, the interval measures nothing
		return next
	}
	if h.rebuild.settling || h.resizing { // the interval has the rebuild of the loaders, or two batch sizes
		return next
	}
	if m, ok := measurement(h.last, s); ok {
		next.measurements = append(kept(h.measurements), m)
	}
	return next
}

// resized reports whether the next interval may still have batches of another size, after a sample was added.
func (h jobHistory) resized(s bus.Sample) bool {
	switch {
	case h.last.Loaders == nil || s.Loaders == nil: // nothing is measured
		return h.resizing
	case !sameBatch(h.last, s):
		return true
	}
	return h.resizing && s.Steps() <= h.last.Steps()
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
	if !steady(before, s) || !sameBatch(before, s) || s.Steps() <= before.Steps() {
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

// sameBatch reports whether the job had the same batch size at both ends of an interval, or reported none.
func sameBatch(before, s bus.Sample) bool {
	if before.BatchSize == nil || s.BatchSize == nil {
		return before.BatchSize == s.BatchSize
	}
	return *before.BatchSize == *s.BatchSize
}

// steady reports whether the job ran with the same workers during the whole interval. Of several processes some may have applied a config
// that others have not.
func steady(before, s bus.Sample) bool {
	return before.Loaders != nil && s.Loaders != nil && *before.Loaders == *s.Loaders &&
		(s.Applied >= s.Generation || max(s.Ranks, s.WorldSize) <= 1)
}
