package peaks_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// profileOf has one reading of memory per second.
func profileOf(memory ...growth.MiB) (p peaks.Profile) {
	for _, m := range memory {
		p = p.Add(peaks.Use{Memory: m}, 1)
	}
	return p
}

func TestProfile_JoinsPairsOfBlocks(t *testing.T) {
	var readings []growth.MiB
	for n := range 33 {
		readings = append(readings, growth.MiB(100+n%7))
	}
	p := profileOf(readings...)
	require.Equal(t, growth.Seconds(4), p.Length)
	require.LessOrEqual(t, len(p.Blocks), peaks.MaxBlocks)
	require.Equal(t, growth.MiB(106), p.Peak().Memory)
}

func TestProfile_IgnoresInvalidReadings(t *testing.T) {
	p := profileOf(100, -5, 1<<40, 120)
	require.Equal(t, growth.MiB(120), p.Peak().Memory)
	nan := growth.Seconds(math.NaN())
	require.Equal(t, p, p.Add(peaks.Use{Memory: 500}, nan))
	require.Equal(t, p, p.Add(peaks.Use{Memory: 500}, -1))
	require.Zero(t, peaks.Profile{Length: nan, Blocks: p.Blocks}.Peak())
	require.Zero(t, peaks.Profile{Length: 1, Blocks: make([]peaks.Use, 17)}.Valid())
}

func TestForecast(t *testing.T) {
	flat := profileOf(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)
	rising := profileOf(1000, 1020, 1040, 1060, 1080, 1100, 1120, 1140)
	runs := peaks.FromRuns([]float64{2000, 2010, 1990, 2000})
	for name, tc := range map[string]struct {
		profile   peaks.Profile
		remaining growth.Seconds
		prior     peaks.Prior
		low, high float64
	}{
		"a job that is flat":                           {flat, 8, peaks.Prior{}, 1000, 1050},
		"a job that rises, for a short time":           {rising, 8, peaks.Prior{}, 1140, 1500},
		"a job that rises, for a long time":            {rising, 80, peaks.Prior{}, 1140, 4560},
		"nothing observed, earlier runs":               {peaks.Profile{}, 0, runs, 1650, 2400},
		"flat, but earlier runs became larger":         {flat, 80, runs, 1000, 2400},
		"earlier runs were smaller than this one is":   {flat, 8, peaks.FromRuns([]float64{500, 510}), 1000, 1050},
		"a false run among earlier ones moves nothing": {peaks.Profile{}, 0, peaks.FromRuns([]float64{2000, 2000, 1e12, 2000}), 500, 8000},
	} {
		t.Run(name, func(t *testing.T) {
			i, ok := peaks.Forecast(tc.profile, peaks.Memory, tc.remaining, tc.prior)
			require.True(t, ok)
			require.LessOrEqual(t, i.Low, i.Likely)
			require.LessOrEqual(t, i.Likely, i.High)
			require.GreaterOrEqual(t, i.Low, tc.low)
			require.LessOrEqual(t, i.High, tc.high)
		})
	}
	_, ok := peaks.Forecast(peaks.Profile{}, peaks.Memory, 0, peaks.Prior{})
	require.False(t, ok, "nothing is known")
	_, ok = peaks.Forecast(flat, peaks.GPUMemory, 0, peaks.Prior{})
	require.False(t, ok, "this resource was not observed")
}

func TestUse_GPU(t *testing.T) {
	for name, tc := range map[string]struct {
		use  peaks.Use
		want growth.MiB
	}{
		"unknown":                                {peaks.Use{Memory: 3000}, 0},
		"by the framework, which has no context": {peaks.Use{GPUReserved: 2000}, 2512},
		"by the driver":                          {peaks.Use{GPUUsed: 1300}, 1300},
		"by both":                                {peaks.Use{GPUReserved: 2000, GPUUsed: 2420}, 2420},
		"a peak that the driver was not asked for": {peaks.Use{GPUReserved: 2000, GPUUsed: 1500}, 2000},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.use.GPU()) })
	}
}

// FuzzForecast: for any job and any record, an interval is finite, ordered, not below what was observed, and not far
// above it.
func FuzzForecast(f *testing.F) {
	f.Add([]byte{1, 2, 3, 250, 4}, 1.0, 10.0, 7.0, 0.1)
	f.Add([]byte{255, 0, 255, 0}, -1.0, math.NaN(), math.Inf(1), -1.0)
	f.Add([]byte{9}, math.Inf(1), 1e300, 800.0, 1e300)
	f.Fuzz(func(t *testing.T, readings []byte, since, remaining, mean, deviation float64) {
		var p peaks.Profile
		for n, r := range readings {
			value := growth.MiB(r) << (n % 56)
			if n%5 == 4 {
				value = -value
			}
			use := peaks.Use{CPU: growth.MilliCPU(value), Memory: value, GPUReserved: value}
			if n%3 == 2 {
				use.GPUUsed = value / 2
			}
			p = p.Add(use, growth.Seconds(since))
		}
		for _, of := range []peaks.Resource{peaks.CPU, peaks.Memory, peaks.GPUMemory} {
			i, ok := peaks.Forecast(p, of, growth.Seconds(remaining), peaks.Prior{Mean: mean, Deviation: deviation})
			if !ok {
				continue
			}
			require.True(t, i.Low > 0 && i.Low <= i.Likely && i.Likely <= i.High && !math.IsInf(i.High, 0), "%+v", i)
			require.GreaterOrEqual(t, i.Low, of(p.Peak()))
		}
	})
}
