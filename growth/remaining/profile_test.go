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

// What ran before: --steps 100 --seed 7, 6 core-seconds to its first step and 2 for each.
func ran() remaining.Profile {
	return remaining.Profile{Numbers: []string{"100", "7"}, Total: 100, StartupCost: 6, StepCost: 2}
}

func TestAJobIsForetoldBeforeItsFirstStep(t *testing.T) {
	for name, tc := range map[string]struct {
		numbers string
		told    remaining.Progress
		used    growth.CoreSeconds
		want    remaining.Estimate
	}{
		"the same once more":                {"100 7", remaining.Progress{}, 0, remaining.Estimate{Low: 154.5, Likely: 206, High: 206 / 0.75, Known: true}},
		"it has begun":                      {"100 7", remaining.Progress{}, 4, remaining.Estimate{Low: 150.5, Likely: 202, High: 202 / 0.75, Known: true}},
		"it takes longer to begin":          {"100 7", remaining.Progress{}, 50, remaining.Estimate{Low: 104.5, Likely: 200, High: 200 / 0.75, Known: true}},
		"so long that it may be another":    {"100 7", remaining.Progress{}, 160, remaining.Estimate{Low: 0, Likely: 200, High: 200 / 0.75, Known: true}},
		"with other steps and another seed": {"40 8", remaining.Progress{}, 0, remaining.Estimate{Low: 64.5, Likely: 86, High: 86 / 0.75, Known: true}},
		"it has told its steps itself":      {"9 9", remaining.Progress{Done: 10, Total: 50}, 20, remaining.Estimate{Low: 59.5, Likely: 80, High: 80 / 0.75, Known: true}},
		"it is past its end":                {"9 9", remaining.Progress{Done: 60, Total: 50}, 20, remaining.Estimate{Known: true}},
		"of no number that it tells":        {"many 7", remaining.Progress{}, 0, remaining.Estimate{}},
		"of fewer numbers":                  {"", remaining.Progress{}, 0, remaining.Estimate{}},
	} {
		t.Run(name, func(t *testing.T) {
			p, left := ran().Predict(tc.told, strings.Fields(tc.numbers), tc.used)
			require.Equal(t, tc.want, left)
			if left.Known {
				require.Equal(t, growth.CoreSeconds(2), p.StepCost)
			}
		})
	}
}

func TestWhichNumberIsTheSteps(t *testing.T) {
	for name, tc := range map[string]struct {
		was, is string
		want    float64
	}{
		"all the same, and none of them":   {"5 20", "5 20", 100},
		"none of them":                     {"5 20", "5 30", 0},
		"two alike, that agree":            {"100 100", "30 30", 30},
		"two alike, that do not":           {"100 100", "30 100", 0},
		"written in another way":           {"1e2", "3e1", 30},
		"the new one is none":              {"100", "1e999", 0},
		"the new one is too large":         {"100", "1e300", 0},
		"no numbers at all: the same once": {"", "", 100},
	} {
		t.Run(name, func(t *testing.T) {
			w := ran()
			w.Numbers = strings.Fields(tc.was)
			p, left := w.Predict(remaining.Progress{}, strings.Fields(tc.is), 0)
			require.Equal(t, tc.want, p.Total)
			require.Equal(t, tc.want > 0, left.Known)
		})
	}
}

func TestNothingIsForetoldByWhatIsNotKnown(t *testing.T) {
	for name, w := range map[string]remaining.Profile{
		"nothing":                 {},
		"what a step takes":       {Total: 100, Numbers: []string{"100"}},
		"how many steps it makes": {StepCost: 2, Numbers: []string{"0"}},
		"a step of no number":     {Total: 100, Numbers: []string{"100"}, StepCost: growth.CoreSeconds(math.NaN())},
	} {
		t.Run(name, func(t *testing.T) {
			_, left := w.Predict(remaining.Progress{}, []string{"5"}, 0)
			require.Zero(t, left)
		})
	}
}

// A command line is what its user wrote: whatever its numbers are, what comes of them is an estimate, and can be stored.
func FuzzForetell(f *testing.F) {
	f.Add("100 7", "40 8", 100.0, 6.0, 2.0, 0.0, 0.0, 3.0)
	f.Add("1e9", "1e308", 1e9, 1e9, 1e9, 5.0, 0.0, 1e9)
	f.Fuzz(func(t *testing.T, was, is string, total, start, perStep, done, told, used float64) {
		for _, known := range []float64{total, start, perStep, done, told, used} {
			if !(known >= 0 && known <= 1e18) {
				return
			}
		}
		w := remaining.Profile{Numbers: strings.Fields(was), Total: total, StartupCost: growth.CoreSeconds(start), StepCost: growth.CoreSeconds(perStep)}
		_, left := w.Predict(remaining.Progress{Done: done, Total: told}, strings.Fields(is), growth.CoreSeconds(used))
		require.GreaterOrEqual(t, left.Low, growth.CoreSeconds(0))
		require.LessOrEqual(t, left.Low, left.Likely)
		require.LessOrEqual(t, left.Likely, left.High)
		_, err := json.Marshal(left)
		require.NoError(t, err)
	})
}

// What a job takes before its first step is part of what it needs.
func TestNeedBeforeTheFirstStep(t *testing.T) {
	var none remaining.Curve
	other := falling(10, 2000, silent)
	at := remaining.Progress{Total: 2000, StepCost: 2}
	later := at
	later.StartupCost = 30
	now, _, _ := none.WorkToTargetAmong([]remaining.Curve{other}, growth.Minimize, at)
	then, _, _ := none.WorkToTargetAmong([]remaining.Curve{other}, growth.Minimize, later)
	require.True(t, now.Known)
	require.Equal(t, remaining.Estimate{Low: now.Low + 30, Likely: now.Likely + 30, High: now.High + 30, Known: true}, then)
}
