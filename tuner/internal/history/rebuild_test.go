package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// at is a sample with a number of workers and the mean time of a step since the previous sample.
func at(step int64, loaders int, seconds growth.Seconds) bus.Sample {
	s := steadySample(step)
	s.Loaders = &loaders
	s.StepSeconds = seconds
	return s
}

// pending is a sample with one worker while a config is sent and not applied.
func pending(step int64, seconds growth.Seconds) bus.Sample {
	s := at(step, 1, seconds)
	s.Generation, s.Applied = 4, 3
	return s
}

func TestAdd_MeasuresTheCostOfARebuild(t *testing.T) {
	for name, c := range map[string]struct {
		samples []bus.Sample
		want    float64 // −1: unknown
	}{
		"no change": {[]bus.Sample{at(0, 1, .1), at(50, 1, .1), at(100, 1, .1)}, -1},
		"in the interval of the acknowledgement": {
			[]bus.Sample{at(0, 1, .1), at(50, 1, .1), at(70, 2, .25), at(120, 2, .1), at(170, 2, .1)}, 3,
		},
		"in the interval after it": {
			[]bus.Sample{at(0, 1, .1), at(50, 1, .1), at(100, 2, .1), at(120, 2, .25), at(170, 2, .1)}, 3,
		},
		"during intervals without a step": {
			[]bus.Sample{at(0, 1, .1), at(50, 1, .1), at(100, 2, .1), at(100, 2, .1), at(101, 2, 5.1), at(150, 2, .1)}, 5,
		},
		"another batch size is pending": {[]bus.Sample{at(0, 1, .1), at(50, 1, .1), pending(100, 2), pending(100, 2), at(150, 1, .1), at(200, 1, .1)}, -1},
		"another batch size, and then loaders": {
			[]bus.Sample{at(0, 1, .1), at(50, 1, .1), pending(100, .4), pending(150, .4), at(200, 1, .4), at(220, 2, .5), at(270, 2, .4), at(320, 2, .4)}, 2,
		},
		"the old speed is no cost":         {[]bus.Sample{at(0, 1, .2), at(50, 1, .2), at(60, 2, .2), at(160, 2, .1), at(260, 2, .1)}, 0},
		"unknown before a steady interval": {[]bus.Sample{at(0, 1, .1), at(50, 1, .1), at(70, 2, .25), at(120, 2, .1)}, -1},
		"bounded":                          {[]bus.Sample{at(0, 1, .1), at(50, 1, .1), at(51, 2, 1e6), at(120, 2, .1), at(170, 2, .1)}, 120},
		"invalid times":                    {[]bus.Sample{at(0, 1, .1), at(50, 1, -4), at(51, 2, -1), at(120, 2, 0), at(170, 2, .1)}, -1},
		"a job that restarted":             {[]bus.Sample{at(900, 1, .1), at(950, 1, .1), at(10, 2, 9), at(60, 2, .1), at(110, 2, .1)}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var h jobHistory
			for _, s := range c.samples {
				h = h.add(s)
			}
			if c.want < 0 {
				require.Nil(t, h.rebuild.cost)
				return
			}
			require.InDelta(t, c.want, float64(*h.rebuild.cost), 1e-6)
		})
	}
}

// TestAdd_DoesNotMeasureARebuild: the interval after a change has the rebuild of the loaders, so it says nothing about their
// number.
func TestAdd_DoesNotMeasureARebuild(t *testing.T) {
	var h jobHistory
	for _, s := range []bus.Sample{at(0, 1, .1), at(50, 1, .1), at(100, 2, .1), at(120, 2, .25), at(170, 2, .1)} {
		h = h.add(s)
	}
	require.Len(t, h.measurements, 2)
	require.InDelta(t, 320, float64(h.measurements[1].Rate), 1e-6)
}
