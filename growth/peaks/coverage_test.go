package peaks_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// shapes are the memory of jobs over their life, in MiB at a time from 0 to 1.
var shapes = map[string]func(r *rand.Rand) func(at float64) float64{
	"noise": func(r *rand.Rand) func(float64) float64 {
		noise := 0.005 + 0.03*r.Float64()
		return func(float64) float64 { return 1000 * (1 + noise*r.NormFloat64()) }
	},
	"a slow start": func(r *rand.Rand) func(float64) float64 {
		length := 0.02 + 0.2*r.Float64()
		return func(at float64) float64 { return 800 + 1200*(1-math.Exp(-at/length)) + 20*r.NormFloat64() }
	},
	"batches of any length": func(r *rand.Rand) func(float64) float64 {
		tail := 20 + 180*r.Float64()
		return func(float64) float64 { return 1000 + tail*r.ExpFloat64() }
	},
	"a leak": func(r *rand.Rand) func(float64) float64 {
		rise := 200 + 2000*r.Float64()
		return func(at float64) float64 { return 1000 + rise*at + 10*r.NormFloat64() }
	},
	"rare evaluations": func(r *rand.Rand) func(float64) float64 {
		rate, more := 0.01+0.04*r.Float64(), 100+500*r.Float64()
		return func(float64) float64 {
			if r.Float64() < rate {
				return 1000 + more*(0.8+0.4*r.Float64())
			}
			return 1000 + 5*r.NormFloat64()
		}
	},
	"buffers that grow now and then": func(r *rand.Rand) func(float64) float64 {
		level, rate := 1000.0, 0.03*r.Float64()
		return func(float64) float64 {
			if r.Float64() < rate {
				level *= 1 + 0.1*r.Float64()
			}
			return level + 2*r.NormFloat64()
		}
	},
}

// covered counts how many of the final peaks are in the intervals that are predicted after parts of a run.
type covered struct{ in, all, width float64 }

func (c *covered) add(memory []growth.MiB, parts ...float64) {
	last := growth.MiB(0)
	for _, m := range memory {
		last = max(last, m)
	}
	for _, part := range parts {
		var p peaks.Profile
		seen := max(1, int(part*float64(len(memory))))
		for _, m := range memory[:seen] {
			p = p.Add(peaks.Use{Memory: m}, 10)
		}
		i, ok := peaks.Forecast(p, peaks.Memory, growth.Seconds(10*(len(memory)-seen)), peaks.Prior{})
		if !ok {
			continue
		}
		c.all++
		c.width += (i.High - i.Low) / i.Likely
		if float64(last) >= math.Floor(i.Low) && float64(last) <= math.Ceil(i.High) {
			c.in++
		}
	}
}

func (c covered) share() float64 { return c.in / c.all }

func TestForecast_CoversFourOfFivePeaks(t *testing.T) {
	var total covered
	for name, shape := range shapes {
		var c covered
		for seed := range uint64(200) {
			memory := make([]growth.MiB, 200)
			at := shape(rand.New(rand.NewPCG(seed, 1)))
			for n := range memory {
				memory[n] = growth.MiB(at(float64(n) / 200))
			}
			c.add(memory, 0.05, 0.1, 0.2, 0.5)
		}
		t.Logf("%s: %.0f %% covered, width %.0f %%", name, 100*c.share(), 100*c.width/c.all)
		total.in += c.in
		total.all += c.all
	}
	t.Logf("all: %.1f %%", 100*total.share())
	require.InDelta(t, 0.80, total.share(), 0.05)
}

// A job that may have reached its peak may have done so also if an earlier run of its program needed more.
func TestForecast_ThePeakMayHaveBeenReached(t *testing.T) {
	var p peaks.Profile
	for range 20 {
		p = p.Add(peaks.Use{Memory: 1000}, 10)
	}
	i, ok := peaks.Forecast(p, peaks.Memory, 100, peaks.FromRuns([]float64{1000}))
	require.True(t, ok)
	require.Equal(t, 1000.0, i.Low)
	require.Less(t, i.Low, i.Likely)
	require.Less(t, i.Likely, i.High)
}
