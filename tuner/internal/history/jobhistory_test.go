package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// steadySample is a sample with two workers at 320 samples per second, half of the time waiting for data.
func steadySample(step int64) bus.Sample {
	loaders := 2
	batch := 32
	return bus.Sample{
		Step:        step,
		StepSeconds: .1,
		LoadSeconds: .05,
		BatchSize:   &batch,
		Loaders:     &loaders,
	}
}

// unsized is a steady sample of a job that does not report its batch size.
func unsized(step int64) bus.Sample {
	s := steadySample(step)
	s.BatchSize = nil
	return s
}

// sized is a steady sample with a batch size.
func sized(step int64, batch int) bus.Sample {
	s := steadySample(step)
	s.BatchSize = &batch
	return s
}

func TestAdd_MeasuresSteadyJobs(t *testing.T) {
	one := loader.Measurement{Loaders: 2, Rate: 320, Batch: 32, Waiting: .5}
	for name, c := range map[string]struct {
		before, now bus.Sample
		want        []loader.Measurement
	}{
		"a steady job":     {steadySample(1), steadySample(2), []loader.Measurement{one}},
		"the first sample": {bus.Sample{}, steadySample(1), nil},
		"no progress":      {steadySample(2), steadySample(2), nil},
		"a restarted job":  {steadySample(900), steadySample(3), nil},
		"the next epoch of a job that numbers its steps per epoch": {steadySample(900), func() bus.Sample {
			s := steadySample(3)
			s.Done = 903
			return s
		}(), []loader.Measurement{one}},
		"a job without reported workers": {steadySample(1), func() bus.Sample {
			s := steadySample(2)
			s.Loaders = nil
			return s
		}(), nil},
		"another number of workers than before": {steadySample(1), func() bus.Sample {
			s := steadySample(2)
			n := 1
			s.Loaders = &n
			return s
		}(), nil},
		"a pending configuration": {steadySample(1), func() bus.Sample {
			s := steadySample(2)
			s.Generation = 4
			s.Applied = 3
			return s
		}(), []loader.Measurement{one}},
		"a pending configuration of two processes": {steadySample(1), func() bus.Sample {
			s := steadySample(2)
			s.Generation = 4
			s.Applied = 3
			s.Ranks = 2
			s.WorldSize = 2
			return s
		}(), nil},
		"another batch size than before":            {sized(1, 64), steadySample(2), nil},
		"a batch size that was not reported before": {unsized(1), steadySample(2), nil},
		"a batch size that is no longer reported":   {steadySample(1), unsized(2), nil},
		"no load time": {steadySample(1), func() bus.Sample {
			s := steadySample(2)
			s.LoadSeconds = 0
			return s
		}(), nil},
		"an invalid load time": {steadySample(1), func() bus.Sample {
			s := steadySample(2)
			s.LoadSeconds = -7
			return s
		}(), nil},
		"a computed batch size": {
			unsized(1), func() bus.Sample {
				s := unsized(2)
				s.SamplesPerSecond = 319
				return s
			}(),
			[]loader.Measurement{one},
		},
		"a computed batch size of each of four processes": {
			unsized(1), func() bus.Sample {
				s := unsized(2)
				s.SamplesPerSecond = 4 * 320
				s.Ranks = 4
				return s
			}(),
			[]loader.Measurement{one},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, jobHistory{last: c.before}.add(c.now).measurements)
		})
	}
}

// TestAdd_DoesNotMeasureTwoBatchSizes: the workers of the interval after a change may still have loaded batches of the size before.
func TestAdd_DoesNotMeasureTwoBatchSizes(t *testing.T) {
	for name, c := range map[string]struct {
		samples []bus.Sample
		want    []int // the batch sizes that were measured
	}{
		"no change":                      {[]bus.Sample{sized(0, 32), sized(50, 32), sized(100, 32)}, []int{32, 32}},
		"another size":                   {[]bus.Sample{sized(0, 32), sized(50, 32), sized(100, 64), sized(150, 64), sized(200, 64)}, []int{32, 64}},
		"intervals without a step":       {[]bus.Sample{sized(0, 32), sized(50, 64), sized(50, 64), sized(90, 64), sized(130, 64)}, []int{64}},
		"a change in one without a step": {[]bus.Sample{sized(0, 32), sized(50, 32), sized(50, 64), sized(90, 64), sized(130, 64)}, []int{32, 64}},
		"two changes in a row":           {[]bus.Sample{sized(0, 32), sized(50, 64), sized(100, 96), sized(150, 96), sized(200, 96)}, []int{96}},
	} {
		t.Run(name, func(t *testing.T) {
			var h jobHistory
			for _, s := range c.samples {
				h = h.add(s)
			}
			var got []int
			for _, m := range h.measurements {
				got = append(got, m.Batch)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestAdd_BoundsHistory(t *testing.T) {
	var h jobHistory
	for step := range int64(10 * MaxMeasurements) {
		h = h.add(steadySample(step))
	}
	require.Len(t, h.measurements, MaxMeasurements)
}

func TestAdd_DoesNotModifySharedHistory(t *testing.T) {
	var h jobHistory
	for step := range int64(MaxMeasurements + 9) {
		before := h.measurements
		seen := len(h.measurements)
		h = h.add(steadySample(step))
		other := h.add(func() bus.Sample {
			s := steadySample(step + 1)
			s.StepSeconds = 9
			return s
		}())
		_ = h.add(steadySample(step + 1))
		require.Len(t, before, seen)
		if n := len(other.measurements); n > 0 && step > 0 {
			require.InDelta(t, 32./9, float64(other.measurements[n-1].Rate), 1e-9)
		}
	}
}

func TestAdd_RemembersOtherNumbersOfWorkers(t *testing.T) {
	var h jobHistory
	for step := range int64(500) {
		s := steadySample(step)
		s.Loaders = new(4)
		if step < 10 {
			s.Loaders = new(2)
		}
		h = h.add(s)
	}
	require.Len(t, h.measurements, MaxMeasurements)
	for i, m := range h.measurements {
		want := 4
		if i < minKept {
			want = 2
		}
		require.Equal(t, want, m.Loaders)
	}
}
