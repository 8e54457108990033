package remaining_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// earlierRun is the profile of a run with --steps 100 --seed 7: 6 core-seconds of startup, 2 for each step.
func earlierRun() remaining.Profile {
	return remaining.Profile{
		Numbers:     []string{"100", "7"},
		Total:       100,
		StartupCost: 6,
		StepCost:    2,
	}
}

func TestProfile_Predict(t *testing.T) {
	for name, tc := range map[string]struct {
		numbers  string
		progress remaining.Progress
		used     growth.Work
		want     remaining.Estimate
	}{
		"the same command line":                           {"100 7", remaining.Progress{}, 0, remaining.Estimate{Low: 154.5, Likely: 206, High: 206 / 0.75, Known: true}},
		"during startup":                                  {"100 7", remaining.Progress{}, 4, remaining.Estimate{Low: 150.5, Likely: 202, High: 202 / 0.75, Known: true}},
		"startup takes longer than predicted":             {"100 7", remaining.Progress{}, 50, remaining.Estimate{Low: 104.5, Likely: 200, High: 200 / 0.75, Known: true}},
		"startup exceeds the lower end of the prediction": {"100 7", remaining.Progress{}, 160, remaining.Estimate{Low: 0, Likely: 200, High: 200 / 0.75, Known: true}},
		"other steps and another seed":                    {"40 8", remaining.Progress{}, 0, remaining.Estimate{Low: 64.5, Likely: 86, High: 86 / 0.75, Known: true}},
		"the job has declared its steps":                  {"9 9", remaining.Progress{Done: 10, Total: 50}, 20, remaining.Estimate{Low: 59.5, Likely: 80, High: 80 / 0.75, Known: true}},
		"the job is past its end":                         {"9 9", remaining.Progress{Done: 60, Total: 50}, 20, remaining.Estimate{Known: true}},
		"the number of steps is not a number":             {"many 7", remaining.Progress{}, 0, remaining.Estimate{}},
		"the command line has fewer numbers":              {"", remaining.Progress{}, 0, remaining.Estimate{}},
	} {
		t.Run(name, func(t *testing.T) {
			p, left := earlierRun().Predict(tc.progress, strings.Fields(tc.numbers), tc.used)
			require.Equal(t, tc.want, left)
			if left.Known {
				require.Equal(t, growth.Work(2), p.StepCost)
			}
		})
	}
}

func TestProfile_PredictFindsTheNumberOfSteps(t *testing.T) {
	for name, tc := range map[string]struct {
		before, now string
		want        float64
	}{
		"equal numbers, none of which is the total":     {"5 20", "5 20", 100},
		"different numbers, none of which is the total": {"5 20", "5 30", 0},
		"two positions match with equal values":         {"100 100", "30 30", 30},
		"two positions match with different values":     {"100 100", "30 100", 0},
		"another notation":                              {"1e2", "3e1", 30},
		"the new number is infinite":                    {"100", "1e999", 0},
		"the new number is too large":                   {"100", "1e300", 0},
		"no numbers at all":                             {"", "", 100},
	} {
		t.Run(name, func(t *testing.T) {
			w := earlierRun()
			w.Numbers = strings.Fields(tc.before)
			p, left := w.Predict(remaining.Progress{}, strings.Fields(tc.now), 0)
			require.Equal(t, tc.want, p.Total)
			require.Equal(t, tc.want > 0, left.Known)
		})
	}
}

func TestProfile_PredictNeedsStepsAndCost(t *testing.T) {
	for name, w := range map[string]remaining.Profile{
		"an empty profile":   {},
		"no step cost":       {Total: 100, Numbers: []string{"100"}},
		"no number of steps": {StepCost: 2, Numbers: []string{"0"}},
		"a step cost of NaN": {Total: 100, Numbers: []string{"100"}, StepCost: growth.Work(math.NaN())},
	} {
		t.Run(name, func(t *testing.T) {
			_, left := w.Predict(remaining.Progress{}, []string{"5"}, 0)
			require.Zero(t, left)
		})
	}
}

// For any command line, the estimate is a valid interval and can be stored as JSON.
func FuzzProfile_Predict(f *testing.F) {
	f.Add("100 7", "40 8", 100.0, 6.0, 2.0, 0.0, 0.0, 3.0)
	f.Add("1e9", "1e308", 1e9, 1e9, 1e9, 5.0, 0.0, 1e9)
	f.Fuzz(func(t *testing.T, before, now string, total, start, perStep, done, declared, used float64) {
		for _, known := range []float64{total, start, perStep, done, declared, used} {
			if !(known >= 0 && known <= 1e18) {
				return
			}
		}
		w := remaining.Profile{
			Numbers:     strings.Fields(before),
			Total:       total,
			StartupCost: growth.Work(start),
			StepCost:    growth.Work(perStep),
		}
		_, left := w.Predict(remaining.Progress{
			Done:  done,
			Total: declared,
		}, strings.Fields(now), growth.Work(used))
		require.GreaterOrEqual(t, left.Low, growth.Work(0))
		require.LessOrEqual(t, left.Low, left.Likely)
		require.LessOrEqual(t, left.Likely, left.High)
		_, err := json.Marshal(left)
		require.NoError(t, err)
	})
}

func TestCurve_WorkToTargetAmongIncludesStartup(t *testing.T) {
	var none remaining.Curve
	other := twoPhaseLoss(10, 2000, noNoise)
	at := remaining.Progress{Total: 2000, StepCost: 2}
	later := at
	later.StartupCost = 30
	now, _, _ := none.WorkToTargetAmong([]remaining.Curve{other}, growth.Minimize, at)
	then, _, _ := none.WorkToTargetAmong([]remaining.Curve{other}, growth.Minimize, later)
	require.True(t, now.Known)
	require.Equal(t, remaining.Estimate{
		Low:    now.Low + 30,
		Likely: now.Likely + 30,
		High:   now.High + 30,
		Known:  true,
	}, then)
}
