package peaks_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/peaks"
)

// stepped is a run or a job of a program with a step.
func stepped(seconds growth.Seconds, use growth.MilliCPU, unit growth.Unit) peaks.Run {
	r := run("team-a", "train", 1000)
	r.StepSeconds, r.StepUse, r.StepUnit = seconds, use, unit
	return r
}

// A step costs half a second of a core or of a GPU.
func TestStepSeconds_DependsOnTheShare(t *testing.T) {
	const core, gpu = growth.CoreSecond, growth.GPUSecond
	for name, tc := range map[string]struct {
		earlier, job peaks.Run
		want         float64 // 0 if it is unknown
	}{
		"the same share":                        {stepped(.5, 1000, core), stepped(0, 1000, core), .5},
		"a tenth of a core teaches no more":     {stepped(5, 100, core), stepped(0, 1000, core), .5},
		"a tenth of a core after a whole one":   {stepped(.5, 1000, core), stepped(0, 100, core), 5},
		"four cores":                            {stepped(.5, 1000, core), stepped(0, 4000, core), .125},
		"a quarter of a GPU":                    {stepped(2, 250, gpu), stepped(0, 1000, gpu), .5},
		"a core is no GPU":                      {stepped(.5, 1000, core), stepped(0, 1000, gpu), 0},
		"a run of an earlier release":           {stepped(5, 0, core), stepped(0, 1000, core), 0},
		"the use of both is unknown":            {stepped(.5, 0, core), stepped(0, 0, core), .5},
		"a negative use is not learned":         {stepped(.5, -1000, core), stepped(0, 1000, core), 0},
		"a unit of a later release":             {stepped(.5, 1000, "quantum"), stepped(0, 1000, "quantum"), 0},
		"a tiny use is bounded to seven days":   {stepped(6*24*3600, 1000, core), stepped(0, 1, core), 7 * 24 * 3600},
		"a use beyond all machines, by the job": {stepped(.5, 1000, core), stepped(0, 1<<50, core), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := peaks.Learn([]peaks.Run{tc.earlier}).StepSeconds(tc.job)
			require.Equal(t, tc.want > 0, ok)
			require.InDelta(t, tc.want, got.Likely, 1e-9*tc.want)
			require.LessOrEqual(t, got.Low, got.Likely)
			require.LessOrEqual(t, got.Likely, got.High)
		})
	}
}

// described at full use: 1 ms for each sample of the batch, on a core.
func describedRuns() (runs []peaks.Run) {
	for batch := 16; batch <= 512; batch += 16 {
		r := described(batch)
		r.StepUse = growth.Core
		runs = append(runs, r)
	}
	return runs
}

// A job of another program is twice as slow as those of its batch size and model. Its own steps, which it makes with half of a core,
// correct the prediction.
func TestStepSeconds_IsCorrectedByTheFirstSteps(t *testing.T) {
	const truth = 4 * 0.256
	k := peaks.Learn(describedRuns())
	job := described(256)
	job.Kind, job.StepSeconds, job.StepUse = "slow", 0, growth.Core/2
	var errors, widths []float64
	for _, count := range []int{0, 1, 2, 5} {
		seen := make([]peaks.Step, count)
		for n := range seen {
			seen[n] = peaks.Step{Seconds: growth.Seconds(truth * (1 + 0.02*float64(n%2))), Use: growth.Core / 2}
		}
		got, ok := k.StepSeconds(job, seen...)
		require.True(t, ok)
		errors = append(errors, max(got.Likely/truth, truth/got.Likely)-1)
		widths = append(widths, got.High/got.Low)
		if count > 0 {
			require.LessOrEqual(t, got.Low, truth)
			require.GreaterOrEqual(t, got.High, truth)
		}
	}
	require.Greater(t, errors[0], 0.5, "before the first step")
	const off = 0.01 // the mean of the steps differs from the truth by as much
	for n := range 3 {
		require.Less(t, errors[n+1], max(errors[n], off), "%v", errors)
	}
	require.Less(t, errors[3], off)
	require.Less(t, widths[3], widths[1])
}

// Steps of the job alone give an interval, and one false step moves it by a bounded factor.
func TestStepSeconds_FromTheJobAlone(t *testing.T) {
	of := func(seconds ...growth.Seconds) (steps []peaks.Step) {
		for _, s := range seconds {
			steps = append(steps, peaks.Step{Seconds: s, Use: growth.Core})
		}
		return steps
	}
	for name, tc := range map[string]struct {
		seen      []peaks.Step
		low, high float64 // bounds of the likely time; 0 if it is unknown
	}{
		"none":                          {nil, 0, 0},
		"one":                           {of(2), 2, 2},
		"two":                           {of(2, 3), 2, 3},
		"the newest count":              {of(9, 9, 9, 9, 9, 2, 2, 2, 2, 2), 2, 2},
		"a false one":                   {of(2, 2, 600_000, 2, 2), 2, 2.2},
		"invalid ones":                  {of(-1, 0, 1e9), 0, 0},
		"those of a GPU do not compare": {[]peaks.Step{{Seconds: 2, Use: growth.Core, Unit: growth.GPUSecond}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := peaks.Learn(nil).StepSeconds(stepped(0, growth.Core, growth.CoreSecond), tc.seen...)
			require.Equal(t, tc.high > 0, ok)
			require.GreaterOrEqual(t, got.Likely, tc.low*(1-1e-9))
			require.LessOrEqual(t, got.Likely, tc.high*(1+1e-9))
		})
	}
}

// An earlier run that was false counts for less with each step of the job.
func TestStepSeconds_AFalseRunIsCorrected(t *testing.T) {
	k := peaks.Learn([]peaks.Run{stepped(200, growth.Core, growth.CoreSecond)})
	job := stepped(0, growth.Core, growth.CoreSecond)
	before := 200.0
	for count := 1; count <= peaks.MaxSteps; count++ {
		seen := make([]peaks.Step, count)
		for n := range seen {
			seen[n] = peaks.Step{Seconds: 2, Use: growth.Core}
		}
		got, ok := k.StepSeconds(job, seen...)
		require.True(t, ok)
		require.Less(t, got.Likely, before)
		before = got.Likely
	}
	require.Less(t, before, 8.0)
}

func TestTypicalStep(t *testing.T) {
	at := func(seconds growth.Seconds, use growth.MilliCPU) peaks.Step {
		return peaks.Step{Seconds: seconds, Use: use}
	}
	require.Zero(t, peaks.TypicalStep(nil))
	require.Equal(t, at(4, 500), peaks.TypicalStep([]peaks.Step{at(1, 1000), at(4, 500), at(2, 5000)}), "by cost")
	require.Equal(t, at(3, 0), peaks.TypicalStep([]peaks.Step{at(1, 1000), at(1, 1000), at(3, 0)}), "the newest is of another kind")
}

func TestRecommendation_StepDiffersFrom(t *testing.T) {
	of := func(likely float64, seen int) peaks.Recommendation {
		return peaks.Recommendation{StepSeconds: &peaks.Interval{Likely: likely}, StepsSeen: seen}
	}
	var unknown peaks.Recommendation
	for n, tc := range []struct {
		a, b peaks.Recommendation
		want bool
	}{
		{unknown, unknown, false},
		{of(1, 0), unknown, true},
		{of(1, 2), of(1.4, 3), false},
		{of(1, 2), of(1.6, 3), true},
		{of(1, 0), of(1, 1), true},
		{of(1, 2), of(1, 5), true},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			require.Equal(t, tc.want, tc.a.StepDiffersFrom(tc.b))
			require.Equal(t, tc.want, tc.b.StepDiffersFrom(tc.a))
		})
	}
}

// A prediction is finite and in order for each step that a job or an earlier run may report.
func FuzzStepSeconds(f *testing.F) {
	f.Add(0.5, int64(1000), 0.5, int64(1000), true)
	f.Add(5.0, int64(100), 600_000.0, int64(1), false)
	f.Add(math.NaN(), int64(-1), math.Inf(1), int64(math.MaxInt64), true)
	f.Fuzz(func(t *testing.T, earlier float64, earlierUse int64, seconds float64, use int64, described bool) {
		r := stepped(growth.Seconds(earlier), growth.MilliCPU(earlierUse), growth.CoreSecond)
		runs := append(describedRuns(), r)
		job := stepped(growth.Seconds(seconds), growth.MilliCPU(use), growth.CoreSecond)
		if described {
			job.Kind, job.Model = "other", runs[0].Model
		}
		seen := []peaks.Step{{Seconds: growth.Seconds(seconds), Use: growth.MilliCPU(use)}, {Seconds: 1, Use: growth.MilliCPU(use)}}
		got, ok := peaks.Learn(runs).StepSeconds(job, seen...)
		if ok {
			require.True(t, 0 < got.Low && got.Low <= got.Likely && got.Likely <= got.High && got.High <= 7*24*3600, "%v", got)
		}
	})
}

// The cost of learning from as many runs as are remembered, and of one prediction.
func BenchmarkLearn(b *testing.B) {
	var runs []peaks.Run
	for n := range peaks.MaxRuns {
		r := described(1 + n)
		r.StepUse = growth.Core
		runs = append(runs, r)
	}
	for b.Loop() {
		peaks.Learn(runs)
	}
}

func BenchmarkRecommend(b *testing.B) {
	k := peaks.Learn(describedRuns())
	job := described(250)
	job.Kind, job.StepUse = "other", growth.Core
	seen := make([]peaks.Step, peaks.MaxSteps)
	for n := range seen {
		seen[n] = peaks.Step{Seconds: 1, Use: growth.Core}
	}
	p := profileOf(1000, 1000, 1000, 1000)
	for b.Loop() {
		k.Recommend(p, job, 100, seen...)
	}
}
