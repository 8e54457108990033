package remaining_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

func TestFromDeclared(t *testing.T) {
	for name, tc := range map[string]struct {
		total, done growth.Work
		error       float64
		want        remaining.Estimate
	}{
		"exact":                                  {100, 30, 0, remaining.Exact(70)},
		"an error of 30 % gives the middle half": {115, 0, 0.3, remaining.Estimate{Low: 100, Likely: 115, High: 115 / 0.85, Known: true}},
		"beyond the declared total":              {70, 80, 0.3, remaining.Estimate{Low: 0, Likely: 10, High: 20, Known: true}},
		"beyond the largest possible total":      {70, 100, 0.3, remaining.Estimate{}},
		"an exact total is exceeded":             {70, 70, 0, remaining.Estimate{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := remaining.FromDeclared(tc.total, tc.done, tc.error)
			require.Equal(t, tc.want.Known, got.Known)
			require.InDeltaSlice(t, []float64{float64(tc.want.Low), float64(tc.want.Likely), float64(tc.want.High)},
				[]float64{float64(got.Low), float64(got.Likely), float64(got.High)}, 1e-9)
		})
	}
}

func TestTypicalWorkToTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		done growth.Work
		left remaining.Estimate
		want remaining.Estimate
	}{
		"at the start":             {0, remaining.Exact(100), remaining.Estimate{Low: 20, Likely: 40, High: 60, Known: true}},
		"some work is done":        {20, remaining.Exact(80), remaining.Estimate{Low: 0, Likely: 20, High: 40, Known: true}},
		"the typical work is done": {40, remaining.Exact(60), remaining.Estimate{}},
		"the end is unknown":       {5, remaining.Estimate{}, remaining.Estimate{}},
		"past the end":             {100, remaining.Exact(0), remaining.Estimate{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, remaining.TypicalWorkToTarget(tc.done, tc.left))
		})
	}
}

// shapes are metrics over steps, with the steps at which they have made 95 % of their improvement within 1000 steps.
var shapes = map[string]struct {
	value     func(x float64) float64
	target    float64
	direction growth.Direction
}{
	"exponential loss":     {func(x float64) float64 { return 0.2 + 2*math.Exp(-x/100) }, 299.6, growth.Minimize},
	"exponential accuracy": {func(x float64) float64 { return 0.9 - 0.8*math.Exp(-x/100) }, 299.6, growth.Maximize},
	"tiny scale":           {func(x float64) float64 { return 1e-6 * math.Exp(-x/100) }, 299.6, growth.Minimize},
	"power law":            {func(x float64) float64 { return 1 + 5/(1+x/50) }, 489, growth.Minimize},
}

func TestCurve_WorkToTargetWithoutNoise(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			var c remaining.Curve
			for x := 0.0; x <= 150; x += 2 {
				c.Add(float64(x), shape.value(x))
			}
			at := func(done float64) remaining.Progress {
				return remaining.Progress{
					Done:     done,
					Total:    1000,
					StepCost: 2,
				}
			}
			got := c.WorkToTarget(shape.direction, at(150))
			require.True(t, got.Known)
			require.InEpsilon(t, 2*(shape.target-150), float64(got.Likely), 0.15)
			require.Zero(t, c.WorkToTarget(shape.direction, at(700)).Likely, "reached")
			require.False(t, c.WorkToTarget(-shape.direction, at(150)).Known, "the metric moves in the wrong direction")
			require.False(t, c.WorkToTarget(shape.direction, remaining.Progress{
				Done:  150,
				Total: 1000,
			}).Known, "the cost of a step is unknown")
		})
	}
}

// The job is halfway to its target. Noise is 5 % of the total improvement, and 2 % of the reports are outliers. The test
// measures how often the interval contains the true value, and the error of the likely value.
func TestCurve_WorkToTargetCoverage(t *testing.T) {
	const repeats = 100
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			covered, known, sumError := 0, 0, 0.0
			improvement := math.Abs(shape.value(0) - shape.value(1e9))
			for seed := range uint64(repeats) {
				rng := rand.New(rand.NewPCG(seed, 5))
				var c remaining.Curve
				done := shape.target / 2
				for i := range 200 {
					x := done * float64(i) / 200
					noise := 0.05 * improvement * rng.NormFloat64()
					if rng.IntN(50) == 0 {
						noise *= 10
					}
					c.Add(float64(x), shape.value(x)+noise)
				}
				got := c.WorkToTarget(shape.direction, remaining.Progress{Done: done, Total: 1000, StepCost: 1})
				if !got.Known {
					continue
				}
				known++
				truth := growth.Work(shape.target - done)
				if got.Low <= truth && truth <= got.High {
					covered++
				}
				sumError += math.Abs(float64(got.Likely/truth - 1))
			}
			t.Logf("known %d of %d, coverage %.0f %%, mean error of the likely value %.0f %%", known, repeats,
				100*float64(covered)/float64(known), 100*sumError/float64(known))
			require.Greater(t, known, repeats*95/100)
			require.Greater(t, covered, known*70/100)
			require.Less(t, sumError/float64(known), 1.5)
		})
	}
}

func TestCurve_IsUnknownFor(t *testing.T) {
	for name, feed := range map[string]func(*remaining.Curve){
		"no reports": func(*remaining.Curve) {},
		"few reports": func(c *remaining.Curve) {
			for x := range 5 {
				c.Add(float64(x), float64(-x))
			}
		},
		"a constant": func(c *remaining.Curve) {
			for x := range 100 {
				c.Add(float64(x), 3)
			}
		},
		"noise": func(c *remaining.Curve) {
			rng := rand.New(rand.NewPCG(1, 6))
			for x := range 100 {
				c.Add(float64(x), rng.NormFloat64())
			}
		},
		"values that are not finite": func(c *remaining.Curve) {
			for x := range 100 {
				c.Add(float64(x), math.NaN())
				c.Add(math.Inf(1), 1)
				c.Add(math.NaN(), float64(-x))
			}
		},
		"a restarted job": func(c *remaining.Curve) {
			for x := range 100 {
				c.Add(float64(x), math.Exp(-float64(x)/20))
			}
			c.Reset()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c remaining.Curve
			feed(&c)
			require.False(t, c.WorkToTarget(growth.Minimize, remaining.Progress{StepCost: 1}).Known)
			require.False(t, c.RemainingWork(growth.Minimize, remaining.Progress{StepCost: 1}).Known)
		})
	}
}

func TestCurve_StaysBoundedAndSurvivesJSON(t *testing.T) {
	var c remaining.Curve
	for x := range 100_000 {
		c.Add(float64(x), math.Exp(-float64(x)/2e4))
	}
	require.LessOrEqual(t, len(c.Points), 64)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var again remaining.Curve
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, c.RemainingWork(growth.Minimize, remaining.Progress{
		Done:     1e5,
		StepCost: 1,
	}), again.RemainingWork(growth.Minimize, remaining.Progress{Done: 1e5, StepCost: 1}))
	got := c.RemainingWork(growth.Minimize, remaining.Progress{StepCost: 1})
	require.InEpsilon(t, 2e4*math.Log(100), float64(got.Likely), 0.15)
	require.Less(t, got.Low, got.Likely)
	require.Greater(t, got.High, got.Likely)
}

// A long curve still resolves its beginning, and no report is lost.
func TestCurve_KeepsMorePointsAtTheBeginning(t *testing.T) {
	const total = 100_000
	var c remaining.Curve
	for x := range total {
		c.Add(float64(x), 0)
	}
	reports, widest := 0, [2]float64{} // largest gaps in the first and in the last tenth
	for i, p := range c.Points {
		reports += p.Reports
		for part, within := range []bool{p.Step < total/10, p.Step > total-total/10} {
			if within && i > 0 {
				widest[part] = max(widest[part], p.Step-c.Points[i-1].Step)
			}
		}
	}
	require.Equal(t, total, reports)
	require.Less(t, widest[0], total/50.)
	require.Less(t, 2*widest[0], widest[1])
	require.Less(t, widest[1], total/10.)
}
