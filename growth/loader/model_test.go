package loader_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// measure returns the measurement of a job with a true model, w workers and batches of 32 samples.
func measure(t *testing.T, truth loader.Model, w int) loader.Measurement {
	t.Helper()
	rate, computing := truth.Rate(w), float64(truth.Compute)
	step := 32 / float64(rate)
	load := max(step-32*computing, 1e-6*step)
	m, ok := loader.Measured(w, 32, growth.Seconds(step), growth.Seconds(load))
	require.True(t, ok)
	return m
}

func TestPublished_PredictsThePublishedFigures(t *testing.T) {
	require.InDelta(t, 126.9, float64(loader.Published().Rate(1)), .1)
	require.InDelta(t, 494, float64(loader.Published().Rate(4)), 1)
}

func TestFit_CorrectsAWrongPrior(t *testing.T) {
	for name, c := range map[string]struct {
		truth loader.Model
		ran   []int
		error float64
	}{
		"40 times slower, measured at one w":    {loader.Model{Parallel: .3, Serial: .003, Compute: .01}, []int{2, 2}, .05},
		"40 times faster, measured at one w":    {loader.Model{Parallel: .0002, Serial: 2e-6, Compute: 1e-5}, []int{1}, .05},
		"another shape, measured at two w":      {loader.Model{Parallel: .02, Serial: .01, Compute: .001}, []int{2, 0, 1, 2}, .1},
		"loading that does not parallelise":     {loader.Model{Parallel: 1e-9, Serial: .02, Compute: .001}, []int{2, 1, 2, 1}, .1},
		"compute-bound with one worker":         {loader.Model{Parallel: .001, Serial: 1e-6, Compute: .01}, []int{1, 1}, .01},
		"a job without workers":                 {loader.Model{Parallel: .02, Serial: .0002, Compute: .03}, []int{0, 0}, .05},
		"compute-bound, slower without workers": {loader.Model{Parallel: .05, Serial: 1e-4, Compute: .03}, []int{2, 1, 0}, .1},
	} {
		t.Run(name, func(t *testing.T) {
			var measured []loader.Measurement
			for _, w := range c.ran {
				measured = append(measured, measure(t, c.truth, w))
			}
			fitted := loader.Fit(loader.Published(), measured)
			for w := 1; w <= 8; w++ {
				require.InEpsilon(t, float64(c.truth.Rate(w)), float64(fitted.Rate(w)), c.error,
					"with %d workers: %+v", w, fitted)
			}
			require.InEpsilon(t, float64(c.truth.MaxRate()), float64(fitted.MaxRate()), .05)
		})
	}
}

func TestFit_LearnsThatWorkersSlowAJobDown(t *testing.T) {
	// On a single core each worker makes the job slower, which a/w + b cannot express.
	crowded := []loader.Measurement{
		{Loaders: 2, Rate: 90, Waiting: .5},
		{Loaders: 1, Rate: 110, Waiting: .4},
		{Loaders: 0, Rate: 130, Waiting: .5},
	}
	var measured []loader.Measurement
	for _, m := range crowded {
		for range 6 {
			measured = append(measured, m)
		}
	}
	fitted := loader.Fit(loader.Published(), measured)
	require.Greater(t, fitted.Rate(0), fitted.Rate(1))
	got := loader.Allocate([]loader.Job{{UID: "a", Weight: 1, Curve: fitted.Curve(2)}}, 2)
	require.Equal(t, loader.Allocation{"a": 0}, got)
}

func TestFit_PrefersNewMeasurements(t *testing.T) {
	slow, fast := loader.Model{
		Parallel: .2,
		Serial:   .002,
		Compute:  .01,
	}, loader.Model{Parallel: .02, Serial: .0002, Compute: .001}
	var measured []loader.Measurement
	for range 30 {
		measured = append(measured, measure(t, slow, 2))
	}
	for range 30 {
		measured = append(measured, measure(t, fast, 2))
	}
	require.InEpsilon(t, float64(fast.Rate(2)), float64(loader.Fit(loader.Published(), measured).Rate(2)), .1)
}

func TestFit_ReturnsThePriorWithoutMeasurements(t *testing.T) {
	require.Equal(t, loader.Published(), loader.Fit(loader.Published(), nil))
	require.Equal(t, loader.Published(),
		loader.Fit(loader.Published(), []loader.Measurement{{Rate: growth.PerSecond(math.NaN())}}))
}

func TestMeasured_RejectsImpossibleValues(t *testing.T) {
	nan, inf := growth.Seconds(math.NaN()), growth.Seconds(math.Inf(1))
	for name, c := range map[string]struct {
		loaders, samples int
		step, load       growth.Seconds
	}{
		"a step of no time":            {1, 32, 0, 0},
		"a negative step":              {1, 32, -1, 0},
		"waiting longer than the step": {1, 32, 1, 2},
		"negative waiting":             {1, 32, 1, -1},
		"no waiting measured":          {1, 32, 1, 0},
		"NaN":                          {1, 32, nan, nan},
		"an infinite step":             {1, 32, inf, 1},
		"an empty batch":               {1, 0, 1, .5},
		"a negative number of workers": {-1, 32, 1, .5},
		"too many workers":             {1 << 30, 32, 1, .5},
	} {
		t.Run(name, func(t *testing.T) {
			_, ok := loader.Measured(c.loaders, c.samples, c.step, c.load)
			require.False(t, ok)
		})
	}
}

func FuzzFit(f *testing.F) {
	f.Add(1, 32, .1, .05, 0, 32, .2, .1)
	f.Add(64, 1, 1e-9, 1e-9, 0, 1<<40, 86400.0, 1e-300)
	f.Add(3, 7, .1, .0001, 3, 7, .1, .1)
	f.Fuzz(func(t *testing.T, w1, n1 int, step1, load1 float64, w2, n2 int, step2, load2 float64) {
		var measured []loader.Measurement
		for _, m := range []struct {
			w, n       int
			step, load float64
		}{{w1, n1, step1, load1}, {w2, n2, step2, load2}} {
			if one, ok := loader.Measured(m.w, m.n, growth.Seconds(m.step), growth.Seconds(m.load)); ok {
				measured = append(measured, one)
			}
		}
		fitted := loader.Fit(loader.Published(), measured)
		require.GreaterOrEqual(t, fitted.Parallel, growth.Seconds(0))
		require.GreaterOrEqual(t, fitted.Serial, growth.Seconds(0))
		for w, rate := range fitted.Curve(loader.MaxLoaders) {
			require.True(t, rate > 0 && !math.IsInf(float64(rate), 0), "T(%d) = %v", w, rate)
		}
		jobs := []loader.Job{
			{UID: "a", Weight: 1, Curve: fitted.Curve(16)},
			{UID: "b", Weight: .5, Curve: loader.Published().Curve(16)},
		}
		require.LessOrEqual(t, loader.Allocate(jobs, 6).Cores(jobs), 6)
	})
}

// TestFit_AfterAChangeOfTheBatchSize: loading a sample takes as long as before. Computing one does not.
func TestFit_AfterAChangeOfTheBatchSize(t *testing.T) {
	small := loader.Model{Parallel: .02, Serial: 2e-4, Compute: .01}
	large := loader.Model{Parallel: .02, Serial: 2e-4, Compute: .002}
	var measured []loader.Measurement
	for _, w := range []int{1, 2, 3, 4, 4, 4} {
		measured = append(measured, measure(t, small, w))
	}
	seen := measure(t, large, 4)
	seen.Batch = 256
	measured = append(measured, seen)
	fitted := loader.Fit(loader.Published(), measured)
	for w := 1; w <= 8; w++ {
		require.InEpsilon(t, float64(large.Rate(w)), float64(fitted.Rate(w)), .1, "with %d workers: %+v", w, fitted)
	}
}

// TestFit_OneMeasurementIsThePrior: the batch size and the split of one step replace the scale of the published regression.
func TestFit_OneMeasurementIsThePrior(t *testing.T) {
	truth := loader.Model{Parallel: .3, Serial: .003, Compute: .05}
	fitted := loader.Fit(loader.Published(), []loader.Measurement{measure(t, truth, 1)})
	require.InEpsilon(t, float64(truth.Rate(1)), float64(fitted.Rate(1)), .01)
	require.InEpsilon(t, float64(truth.Rate(4)), float64(fitted.Rate(4)), .05, "the published ratio of b to a remains")
	require.InEpsilon(t, float64(truth.MaxRate()), float64(fitted.MaxRate()), .01)
}

// TestFit_OfAJobThatNeverWaits: its workers are enough, and fewer may be. Whether they are is known once it has run with fewer.
func TestFit_OfAJobThatNeverWaits(t *testing.T) {
	truth := loader.Model{Parallel: .001, Serial: 1e-6, Compute: .0011}
	never := []loader.Measurement{measure(t, truth, 4), measure(t, truth, 4)}
	fitted := loader.Fit(loader.Published(), never)
	require.InEpsilon(t, float64(truth.Rate(4)), float64(fitted.Rate(4)), .01)
	require.InEpsilon(t, float64(truth.Rate(2)), float64(fitted.Rate(2)), .05, "two are expected to be enough")
	require.Less(t, float64(fitted.Rate(1)), .8*float64(truth.Rate(1)), "one is not")

	slow := loader.Model{Parallel: .004, Serial: 1e-6, Compute: .0011}
	for _, w := range []int{3, 3} {
		never = append(never, measure(t, slow, w))
	}
	fitted = loader.Fit(loader.Published(), never)
	require.InEpsilon(t, float64(slow.Rate(3)), float64(fitted.Rate(3)), .02)
	require.InEpsilon(t, float64(slow.Rate(4)), float64(fitted.Rate(4)), .05)
}
