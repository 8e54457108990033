package efficiency_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
)

const interval = 20 * time.Second

var start = time.Unix(1_700_000_000, 0)

// busy returns the usage of a job that keeps one core busy, at tick i.
func busy(i int) efficiency.Usage {
	return efficiency.Usage{Work: growth.Work(float64(i) * interval.Seconds()), Known: true}
}

// follow gives a tracker one report per interval and returns the reading after each.
func follow(tracker *efficiency.Tracker, values []float64) []efficiency.Reading {
	readings := make([]efficiency.Reading, len(values))
	for i, value := range values {
		_, _ = tracker.Report(int64(i+1), value)
		readings[i] = tracker.Tick(start.Add(time.Duration(i)*interval), busy(i))
	}
	return readings
}

func curve(n int, f func(i int) float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = f(i)
	}
	return values
}

func categories(readings []efficiency.Reading) []growth.Category {
	all := make([]growth.Category, len(readings))
	for i, r := range readings {
		all[i] = r.Category
	}
	return all
}

var (
	learning    = func(i int) float64 { return math.Exp(-float64(i) / 6) }
	flat        = func(int) float64 { return 0.1 }
	oscillating = func(i int) float64 { return 1 + float64(i%2) }
	thenFlat    = func(i int) float64 { return max(1-float64(i)/8, 0.2) }
)

func TestTracker_Category(t *testing.T) {
	for name, tc := range map[string]struct {
		direction growth.Direction
		metric    func(int) float64
		want      growth.Category
	}{
		"a falling loss progresses":                {growth.Minimize, func(i int) float64 { return 10 - float64(i)/10 }, growth.Progressing},
		"a rising accuracy progresses":             {growth.Maximize, func(i int) float64 { return float64(i) / 100 }, growth.Progressing},
		"a rising loss converges":                  {growth.Minimize, func(i int) float64 { return float64(i) }, growth.Converged},
		"a loss that becomes flat converges":       {growth.Minimize, thenFlat, growth.Converged},
		"a decaying loss converges":                {growth.Minimize, learning, growth.Converged},
		"a constant metric converges":              {growth.Minimize, flat, growth.Converged},
		"a metric of zero converges":               {growth.Minimize, func(int) float64 { return 0 }, growth.Converged},
		"an oscillating metric converges":          {growth.Minimize, oscillating, growth.Converged},
		"an oscillation that begins low converges": {growth.Maximize, oscillating, growth.Converged},
		"a falling negative loss progresses":       {growth.Minimize, func(i int) float64 { return -float64(i) }, growth.Progressing},
		"a large offset does not hide progress":    {growth.Minimize, func(i int) float64 { return 1e6 - float64(i) }, growth.Progressing},
	} {
		t.Run(name, func(t *testing.T) {
			readings := follow(efficiency.New(efficiency.Config{}, tc.direction), curve(40, tc.metric))
			require.Equal(t, tc.want, readings[39].Category)
		})
	}
}

func TestTracker_DemotesAfterTwoLowSamples(t *testing.T) {
	readings := follow(efficiency.New(efficiency.Config{}, growth.Minimize), curve(7, flat))
	const p, w, c = growth.Progressing, growth.Watching, growth.Converged
	require.Equal(t, []growth.Category{p, p, w, w, c, c, c}, categories(readings))
	require.Zero(t, readings[6].Growth)
}

func TestTracker_IgnoresTheScaleOfTheMetric(t *testing.T) {
	shapes := map[string]func(int) float64{
		"learning":    learning,
		"flat":        flat,
		"oscillating": oscillating,
		"then flat":   thenFlat,
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			want := follow(efficiency.New(efficiency.Config{}, growth.Minimize), curve(60, shape))
			for _, scale := range []float64{1e-6, 1e6, 1e-30, 1e30} {
				got := follow(efficiency.New(efficiency.Config{}, growth.Minimize), curve(60, func(i int) float64 { return scale * shape(i) }))
				require.Equal(t, categories(want), categories(got), "× %g", scale)
				for i := range got {
					require.InDelta(t, float64(want[i].Growth), float64(got[i].Growth), 1e-9)
				}
			}
		})
	}
}

func TestTracker_PromotesAfterOneHighSample(t *testing.T) {
	tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
	readings := follow(tracker, append(curve(20, flat), 0.01))
	require.Equal(t, growth.Converged, readings[19].Category)
	require.Equal(t, growth.Progressing, readings[20].Category)
}

func TestTracker_DoesNotDemoteASilentJob(t *testing.T) {
	tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
	for i := range 100 {
		reading := tracker.Tick(start.Add(time.Duration(i)*interval), busy(i))
		require.Equal(t, growth.Progressing, reading.Category)
		require.False(t, reading.Sampled)
	}
	_, err := tracker.Report(1, 0.5)
	require.NoError(t, err)
	for i := 100; i < 200; i++ {
		require.Equal(t, growth.Progressing,
			tracker.Tick(start.Add(time.Duration(i)*interval), busy(i)).Category, "one report is not enough")
	}
}

func TestTracker_MeasuresRareReportsOverTheirOwnTime(t *testing.T) {
	frequent, rare := efficiency.New(efficiency.Config{Smoothing: 1}, growth.Minimize), efficiency.New(efficiency.Config{Smoothing: 1}, growth.Minimize)
	var last [2]efficiency.Reading
	for i := range 13 {
		now := start.Add(time.Duration(i) * interval)
		_, _ = frequent.Report(int64(i), 100-float64(i))
		last[0] = frequent.Tick(now, busy(i))
		if i%4 == 0 {
			_, _ = rare.Report(int64(i), 100-float64(i))
		}
		last[1] = rare.Tick(now, busy(i))
	}
	require.InDelta(t, float64(last[0].Raw), float64(last[1].Raw), 1e-9)
	require.Equal(t, growth.Progressing, last[1].Category)
}

func TestTracker_RejectsReportsThatAreNotFinite(t *testing.T) {
	tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
	for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := tracker.Report(1, value)
		require.ErrorIs(t, err, efficiency.ErrNotFinite)
	}
	require.False(t, tracker.Tick(start, busy(0)).Sampled)
}

func TestTracker_StaysFiniteForLargeNumbers(t *testing.T) {
	readings := follow(efficiency.New(efficiency.Config{}, growth.Minimize), []float64{1e300, -1e300, 1e300, -1e300})
	for _, r := range readings {
		require.False(t, math.IsNaN(float64(r.Growth)) || math.IsInf(float64(r.Growth), 0))
	}
}

func TestTracker_TakesNoSampleIfTheClockDoesNotAdvance(t *testing.T) {
	tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
	follow(tracker, []float64{3, 2})
	for _, now := range []time.Time{start.Add(interval), start.Add(-time.Hour)} {
		_, _ = tracker.Report(3, 1)
		require.False(t, tracker.Tick(now, busy(2)).Sampled)
	}
	reading := tracker.Tick(start.Add(-time.Hour).Add(interval), busy(3))
	require.True(t, reading.Sampled, "the reports are part of the next sample")
	require.Equal(t, growth.Progressing, reading.Category)
}

func TestTracker_CPUUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		usage func(i int) efficiency.Usage
		want  efficiency.PerWork
	}{
		"one core": {busy, 1.0 / 20},
		"two cores": {func(i int) efficiency.Usage {
			return efficiency.Usage{Work: 2 * busy(i).Work, Known: true}
		}, 0.5 / 20},
		"no usage counts as 0.05 cores":    {func(int) efficiency.Usage { return efficiency.Usage{Known: true} }, 20.0 / 20},
		"unknown usage counts as one core": {func(int) efficiency.Usage { return efficiency.Usage{} }, 1.0 / 20},
		"a counter that restarts counts as no usage": {func(i int) efficiency.Usage {
			return efficiency.Usage{Work: growth.Work(100 - i), Known: true}
		}, 20.0 / 20},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
			var reading efficiency.Reading
			for i := range 3 {
				_, _ = tracker.Report(int64(i), 10-float64(i))
				reading = tracker.Tick(start.Add(time.Duration(i)*interval), tc.usage(i))
			}
			require.InDelta(t, float64(tc.want), float64(reading.Raw), 1e-12)
		})
	}
}

func TestTracker_Restart(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   growth.Category
	}{
		"a job that starts over progresses":                      {[]float64{1, 0.8, 0.6}, growth.Progressing},
		"a job that resumes its last checkpoint stays converged": {[]float64{0.1, 0.1, 0.1}, growth.Converged},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
			readings := follow(tracker, append([]float64{1, 0.8, 0.6, 0.4, 0.2}, curve(30, flat)...))
			require.Equal(t, growth.Converged, readings[34].Category)
			var last efficiency.Reading
			for i, value := range tc.values {
				restarted, err := tracker.Report(int64(i+1), value)
				require.NoError(t, err)
				require.Equal(t, i == 0, restarted)
				last = tracker.Tick(start.Add(time.Duration(35+i)*interval), busy(35+i))
				require.Equal(t, i+1, last.Samples)
			}
			require.Equal(t, tc.want, last.Category)
		})
	}
}

func TestResume_ContinuesWhereTheTrackerStopped(t *testing.T) {
	whole := follow(efficiency.New(efficiency.Config{}, growth.Minimize), curve(60, learning))
	first := efficiency.New(efficiency.Config{}, growth.Minimize)
	follow(first, curve(40, learning))
	require.Equal(t, growth.Converged, first.Category())
	second := efficiency.Resume(efficiency.Config{}, growth.Minimize, first.State())
	for i := 40; i < 60; i++ {
		_, _ = second.Report(int64(i+1), learning(i))
		reading := second.Tick(start.Add(time.Duration(i)*interval), busy(i))
		require.Equal(t, whole[i].Category, reading.Category)
	}
	require.Equal(t, growth.Progressing, efficiency.Resume(efficiency.Config{}, growth.Minimize, efficiency.State{
		Peak:     -1,
		Category: growth.Converged,
	}).Category())
}

func TestConfig_Validate(t *testing.T) {
	require.NoError(t, efficiency.Config{}.Validate())
	for name, c := range map[string]efficiency.Config{
		"alpha":         {Alpha: 1},
		"negative":      {Alpha: -0.1},
		"NaN":           {Alpha: math.NaN()},
		"low samples":   {LowSamples: -1},
		"return factor": {ReturnFactor: 0.5},
		"smoothing":     {Smoothing: 2},
		"peak decay":    {PeakDecay: 1.1},
		"minimum cores": {MinCores: -1},
	} {
		require.Error(t, c.Validate(), name)
	}
}

func FuzzTracker(f *testing.F) {
	f.Add(1.0, 0.5, 0.25, int64(1), int64(20))
	f.Add(math.NaN(), -1e300, 1e300, int64(-5), int64(-20))
	f.Fuzz(func(t *testing.T, a, b, c float64, step, seconds int64) {
		tracker := efficiency.New(efficiency.Config{}, growth.Maximize)
		for i, value := range []float64{a, b, c} {
			if math.Abs(value) > 1e300 {
				continue // the wire rejects these
			}
			_, _ = tracker.Report(step*int64(i), value)
			r := tracker.Tick(start.Add(time.Duration(i)*time.Duration(seconds)), busy(i))
			if !(r.Growth >= 0 && r.Growth <= 1) || !r.Category.Valid() {
				t.Fatalf("%+v", r)
			}
			if _, err := json.Marshal(r); err != nil { // a reading must be publishable
				t.Fatalf("%+v: %v", r, err)
			}
		}
	})
}
