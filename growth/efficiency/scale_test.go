package efficiency_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
)

// changes reports five values per interval and returns the categories, and the factors of the changes of scale.
func changes(direction growth.Direction, n int, metric func(i int) float64) (all []growth.Category, factors []float64) {
	tracker := efficiency.New(efficiency.Config{}, direction)
	for i := range n {
		_, _ = tracker.Report(int64(i+1), metric(i))
		if r, ok := tracker.Rescaled(); ok {
			factors = append(factors, r.Factor)
		}
		if i%5 == 4 {
			all = append(all, tracker.Tick(start.Add(time.Duration(i)*interval), busy(i)).Category)
		}
	}
	return all, factors
}

func TestTracker_RecognisesAChangeOfScale(t *testing.T) {
	noise := func(i int) float64 { return 1 + 0.03*math.Sin(float64(7*i*i)) }
	growing := func(i int) float64 { return (10 - float64(i)/50) * noise(i) }
	from := func(at int, factor float64, metric func(int) float64) func(int) float64 {
		return func(i int) float64 {
			if i < at {
				return metric(i)
			}
			return factor * metric(i)
		}
	}
	for name, tc := range map[string]struct {
		direction growth.Direction
		metric    func(int) float64
		factor    float64 // 0: no change of scale
	}{
		"a loss divided by 1000":        {growth.Minimize, from(103, 1e-3, growing), 1e-3},
		"a loss multiplied by 1000":     {growth.Minimize, from(103, 1e3, growing), 1e3},
		"a loss multiplied by 65536":    {growth.Minimize, from(100, 65536, growing), 65536},
		"a score in per cent":           {growth.Maximize, from(102, 100, func(i int) float64 { return .2 + float64(i)/600 }), 100},
		"a negative metric":             {growth.Minimize, from(103, 100, func(i int) float64 { return -.2 - float64(i)/600 }), 100},
		"a fast fall in the first step": {growth.Minimize, func(i int) float64 { return map[bool]float64{true: 1e4, false: 2 - float64(i)/300}[i < 3] }, 0},
		"a fall by half at each step":   {growth.Minimize, func(i int) float64 { return math.Pow(.5, float64(i)) }, 0},
		"a fall that accelerates":       {growth.Minimize, func(i int) float64 { return 10 * math.Exp(-math.Pow(float64(i)/50, 3)) }, 0},
		"one value in another scale":    {growth.Minimize, func(i int) float64 { return growing(i) * map[bool]float64{true: 1000, false: 1}[i == 100] }, 0},
		"a loss that explodes":          {growth.Minimize, func(i int) float64 { return growing(i) * math.Pow(8, max(float64(i-100), 0)) }, 0},
		"a rate that steps down":        {growth.Minimize, from(100, .25, growing), 0},
		"a metric that changes sign":    {growth.Maximize, func(i int) float64 { return 100*math.Sin(float64(i)) + float64(i) }, 0},
		"a metric of zero":              {growth.Minimize, func(i int) float64 { return map[bool]float64{true: 5, false: 0}[i < 100] }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			all, factors := changes(tc.direction, 250, tc.metric)
			if tc.factor == 0 {
				require.Empty(t, factors)
				return
			}
			require.Len(t, factors, 1)
			require.InEpsilon(t, tc.factor, factors[0], 0.1)
			require.Equal(t, growth.Progressing, all[len(all)-1], "the job still grows")
			require.NotContains(t, all, growth.Converged)
		})
	}
}

func TestTracker_AChangeOfScaleIsNoGrowth(t *testing.T) {
	all, factors := changes(growth.Minimize, 400, func(i int) float64 {
		return (1 + math.Exp(-float64(i)/20)) * map[bool]float64{true: 1, false: 1e-3}[i < 300]
	})
	require.Len(t, factors, 1)
	require.Equal(t, growth.Converged, all[59])
	require.Equal(t, growth.Converged, all[79])
	require.NotContains(t, all[60:], growth.Progressing)
}

// Losses with noise of any usual size are not taken for a change of scale.
func TestTracker_DoesNotMistakeNoiseForAChangeOfScale(t *testing.T) {
	for _, amplitude := range []float64{0.01, 0.3, 1, 3} {
		random := rand.New(rand.NewPCG(1, 7))
		_, factors := changes(growth.Minimize, 50_000, func(i int) float64 {
			return (1 + 5*math.Exp(-float64(i)/1000)) * math.Exp(amplitude*random.NormFloat64())
		})
		require.Empty(t, factors, "noise of %g", amplitude)
	}
}

// FuzzTracker_Sequences gives a tracker restarts, checkpoints, changes of scale and values that are not finite.
func FuzzTracker_Sequences(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 3, 0, 4, 5, 5, 5, 6, 0, 0})
	f.Add([]byte{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1, 1, 1, 1, 1, 3, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 2, 2, 2, 2})
	f.Fuzz(func(t *testing.T, script []byte) {
		tracker := efficiency.New(efficiency.Config{}, growth.Minimize)
		step, value := int64(0), 100.0
		for i, b := range script {
			step++
			switch b % 8 {
			case 0:
				value *= 0.99
			case 1:
				value *= 1000
			case 2:
				value /= 1000
			case 3:
				step /= 2
				tracker.ResumeAt(step, value)
			case 4:
				step = 0
				tracker.Restart()
			case 5:
				_, _ = tracker.Report(step, math.NaN())
			case 6:
				tracker = efficiency.Resume(efficiency.Config{}, growth.Minimize, tracker.State())
			case 7: // the value stays
			}
			if math.Abs(value) > 1e300 {
				value = 1
			}
			_, _ = tracker.Report(step, value)
			if b%3 != 0 {
				continue
			}
			r := tracker.Tick(start.Add(time.Duration(i)*interval), busy(i))
			if !(r.Growth >= 0 && r.Growth <= 1) || !r.Category.Valid() {
				t.Fatalf("%+v", r)
			}
			if after := efficiency.Resume(efficiency.Config{}, growth.Minimize, tracker.State()).State(); after != tracker.State() {
				t.Fatalf("the state is not valid: %+v", tracker.State())
			}
		}
	})
}
