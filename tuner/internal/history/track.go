package history

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// Kept is how many measurements are held for a job.
const Kept = 64

// track is what is remembered of one job. Its slice is never written to again, so that snapshots may share it.
type track struct {
	last     bus.Sample
	measured []loader.Measurement
}

// follow takes in the samples of a view and forgets the jobs that have none.
func follow(tracks map[growth.PodUID]track, view *bus.View[entry]) map[growth.PodUID]track {
	next := make(map[growth.PodUID]track, len(tracks))
	for _, e := range view.Values {
		if e.sample != nil {
			next[e.key.Pod] = tracks[e.key.Pod].with(*e.sample)
		}
	}
	return next
}

// with takes in one sample. Seeing the same one again changes nothing.
func (t track) with(s bus.Sample) track {
	next := track{last: s, measured: t.measured}
	if s.Step < t.last.Step { // it started over, with other neighbours perhaps, but with the same code
		return next
	}
	if m, ok := measurement(t.last, s); ok {
		kept := t.measured[max(0, len(t.measured)-Kept+1):]
		next.measured = append(kept[:len(kept):len(kept)], m)
	}
	return next
}

// measurement tells what the interval between two samples of a job measured, if it measured anything.
func measurement(before, s bus.Sample) (loader.Measurement, bool) {
	steady := before.Loaders != nil && s.Loaders != nil && *before.Loaders == *s.Loaders && s.Applied >= s.Generation
	if !steady || s.Step <= before.Step {
		return loader.Measurement{}, false
	}
	return loader.Measured(*s.Loaders, samplesPerStep(s), s.StepSeconds, s.LoadSeconds)
}

// samplesPerStep is the batch size, computed where the job never told it.
func samplesPerStep(s bus.Sample) int {
	if s.BatchSize != nil {
		return *s.BatchSize
	}
	return int(math.Round(min(math.MaxInt32, float64(s.SamplesPerSecond)*float64(s.StepSeconds))))
}
