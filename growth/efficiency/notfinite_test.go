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

var (
	nan    = math.NaN()
	inf    = math.Inf(1)
	negInf = math.Inf(-1)
)

// Each case is a series of one report per sample, at steps 0, 10, 20, …
func TestTracker_LosesAMetricThatIsNotFinite(t *testing.T) {
	for name, tc := range map[string]struct {
		values   []float64
		lasting  bool
		since    int64
		kinds    string
		growth   growth.Growth
		category growth.Category
	}{
		"a healthy curve":                    {[]float64{5, 4, 3, 2}, false, 0, "", 1, growth.Progressing},
		"a single NaN":                       {[]float64{5, 4, nan, 3, 2}, false, 0, "", 1, growth.Progressing},
		"two in a row":                       {[]float64{5, 4, nan, inf}, false, 20, "NaN or +Inf", 1, growth.Progressing},
		"every second report":                {[]float64{5, nan, 4, nan, 3, nan, 2, nan}, false, 70, "NaN", 1, growth.Progressing},
		"three in a row":                     {[]float64{5, 4, nan, nan, nan}, true, 20, "NaN", 0, growth.Progressing},
		"infinite":                           {[]float64{5, 4, inf, inf, inf}, true, 20, "+Inf", 0, growth.Progressing},
		"all kinds":                          {[]float64{5, nan, negInf, inf}, true, 10, "NaN or +Inf or -Inf", 0, growth.Progressing},
		"for longer":                         {[]float64{5, 4, nan, nan, nan, nan}, true, 20, "NaN", 0, growth.Watching},
		"for long":                           {[]float64{5, 4, nan, nan, nan, nan, nan, nan}, true, 20, "NaN", 0, growth.Converged},
		"from the start":                     {[]float64{nan, nan, nan, nan, nan, nan}, true, 0, "NaN", 0, growth.Converged},
		"with two finite values in between":  {[]float64{5, 4, nan, nan, nan, 3, 2, nan}, true, 20, "NaN", 0, growth.Watching},
		"and recovers":                       {[]float64{5, 4, nan, nan, nan, nan, 3, 2, 1}, false, 0, "", 0, growth.Progressing},
		"and recovers and grows":             {[]float64{5, 4, nan, nan, nan, nan, 3, 2, 1, 0}, false, 0, "", 1, growth.Progressing},
		"and recovers with less than it had": {[]float64{5, 4, nan, nan, nan, 6, 6, 6, 6, 6, 6}, false, 0, "", 0, growth.Watching},
		"a converged job keeps its category": {[]float64{5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, nan, nan, nan, 4, 4, 4}, false, 0, "", 0, growth.Converged},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := efficiency.New(efficiency.Config{Smoothing: 1}, growth.Minimize)
			var r efficiency.Reading
			for i, value := range tc.values {
				_, err := tracker.Report(int64(10*i), value)
				require.Equal(t, math.IsNaN(value) || math.IsInf(value, 0), err != nil)
				r = tracker.Tick(start.Add(time.Duration(i)*interval), busy(i))
			}
			lost := tracker.NotFinite()
			require.Equal(t, tc.lasting, lost.Lasting)
			require.Equal(t, tc.kinds, lost.Kinds())
			require.Equal(t, tc.since, lost.Since)
			require.Equal(t, tc.category, r.Category, r.Reason)
			require.InDelta(t, float64(tc.growth), float64(r.Growth), 1e-2, r.Reason)
		})
	}
}

func TestTracker_ARestartEndsTheLossOfAMetric(t *testing.T) {
	lost := func() *efficiency.Tracker {
		tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
		for i, value := range []float64{5, 4, nan, nan, nan, nan} {
			_, _ = tracker.Report(int64(10*i), value)
			tracker.Tick(start.Add(time.Duration(i)*interval), busy(i))
		}
		require.True(t, tracker.NotFinite().Lasting)
		return tracker
	}
	tracker := lost()
	restarted, err := tracker.Report(0, 5)
	require.NoError(t, err)
	require.True(t, restarted)
	require.Zero(t, tracker.NotFinite())

	tracker = lost()
	tracker.Restart()
	require.Zero(t, tracker.NotFinite())
	require.Equal(t, growth.Progressing, tracker.Category())

	text, err := json.Marshal(lost().State())
	require.NoError(t, err)
	var state efficiency.State
	require.NoError(t, json.Unmarshal(text, &state))
	require.Equal(t, lost().NotFinite(), efficiency.Resume(efficiency.Config{}, growth.Minimize, state).NotFinite(), "it survives a restart of the coordinator")
}
