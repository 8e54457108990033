package timeline_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// reported returns a run of one job that reports its metric at a fixed interval.
func reported(every time.Duration, reports int, metric func(i int) float64) *timeline.Timeline {
	began := time.Unix(1_000, 0)
	run := &timeline.Timeline{Name: "p"}
	for i := range reports {
		run.Add(timeline.Reading{At: began.Add(time.Duration(i+1) * every), Jobs: []timeline.Job{{
			Name: "j", State: timeline.Running, Submitted: began, Sampled: true, Reported: true, Value: metric(i),
		}}})
	}
	return run
}

func TestTimeToTarget(t *testing.T) {
	falling := func(i int) float64 { return math.Exp(-float64(i) / 20) }
	for name, tc := range map[string]struct {
		run  *timeline.Timeline
		want time.Duration
	}{
		"a loss that falls: e^-3 is 95 %, two reports are looked ahead": {reported(time.Second, 200, falling), 59 * time.Second},
		"an accuracy that rises":           {reported(time.Second, 200, func(i int) float64 { return 1 - falling(i) }), 59 * time.Second},
		"one wild report is no good model": {reported(time.Second, 200, func(i int) float64 { return falling(i) - map[bool]float64{true: 1}[i == 10] }), 59 * time.Second},
		"the same at half the pace":        {reported(2*time.Second, 200, falling), 118 * time.Second},
		"too few reports":                  {reported(time.Second, 19, falling), 0},
		"a metric that goes nowhere":       {reported(time.Second, 200, func(int) float64 { return 1 }), 0},
		"a job without readings":           {&timeline.Timeline{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDelta(t, tc.want.Seconds(), tc.run.TimeToTarget("j").Seconds(), 2)
		})
	}
	d := reported(time.Second, 200, falling).TargetAgainst(reported(2*time.Second, 200, falling))
	require.InDelta(t, -0.5, d.Relative(), 0.02)
	require.False(t, reported(time.Second, 3, falling).TargetAgainst(reported(time.Second, 200, falling)).Known())
}

// A job that runs alone ends after a few readings, but its log has every report.
func TestTimeToTarget_PrefersTheReportsOfTheLog(t *testing.T) {
	run := reported(time.Second, 10, func(int) float64 { return 7 })
	require.Zero(t, run.TimeToTarget("j"))
	run.Reports = map[string][]timeline.Report{}
	for i := range 200 {
		at := time.Unix(1_000, 0).Add(time.Duration(i+1) * 50 * time.Millisecond)
		run.Reports["j"] = append(run.Reports["j"], timeline.Report{At: at, Step: 20 * i, Value: math.Exp(-float64(i) / 20)})
	}
	require.InDelta(t, 59*.05, run.TimeToTarget("j").Seconds(), 0.2)
}
