package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// steady is a job's sample at a step, with two loaders, 320 samples in a second, half of it waiting.
func steady(step int64) bus.Sample {
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

func TestOnlyASteadyJobIsMeasured(t *testing.T) {
	one := loader.Measurement{Loaders: 2, Rate: 320, Waiting: .5}
	for name, c := range map[string]struct {
		before, now bus.Sample
		want        []loader.Measurement
	}{
		"a steady job":            {steady(1), steady(2), []loader.Measurement{one}},
		"its first sample":        {bus.Sample{}, steady(1), nil},
		"no progress":             {steady(2), steady(2), nil},
		"a job that started over": {steady(900), steady(3), nil},
		"a job that never told its loaders": {steady(1), func() bus.Sample {
			s := steady(2)
			s.Loaders = nil
			return s
		}(), nil},
		"other loaders than before": {steady(1), func() bus.Sample {
			s := steady(2)
			n := 1
			s.Loaders = &n
			return s
		}(), nil},
		"a config on its way": {steady(1), func() bus.Sample {
			s := steady(2)
			s.Generation = 4
			s.Applied = 3
			return s
		}(), nil},
		"no split of a step's time": {steady(1), func() bus.Sample {
			s := steady(2)
			s.LoadSeconds = 0
			return s
		}(), nil},
		"nonsense": {steady(1), func() bus.Sample {
			s := steady(2)
			s.LoadSeconds = -7
			return s
		}(), nil},
		"a batch size never told, computed": {
			steady(1), func() bus.Sample {
				s := steady(2)
				s.BatchSize = nil
				s.SamplesPerSecond = 319
				return s
			}(),
			[]loader.Measurement{one},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, track{last: c.before}.with(c.now).measured)
		})
	}
}

func TestTheHistoryOfAJobIsBounded(t *testing.T) {
	var tr track
	for step := range int64(10 * Kept) {
		tr = tr.with(steady(step))
	}
	require.Len(t, tr.measured, Kept)
}

func TestAHistoryOnceSeenNeverChanges(t *testing.T) {
	var tr track
	for step := range int64(Kept + 9) {
		before := tr.measured
		seen := len(tr.measured)
		tr = tr.with(steady(step))
		other := tr.with(func() bus.Sample {
			s := steady(step + 1)
			s.StepSeconds = 9
			return s
		}())
		_ = tr.with(steady(step + 1))
		require.Len(t, before, seen)
		if n := len(other.measured); n > 0 && step > 0 {
			require.InDelta(t, 32./9, float64(other.measured[n-1].Rate), 1e-9)
		}
	}
}
