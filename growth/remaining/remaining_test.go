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

func TestDeclared(t *testing.T) {
	for name, tc := range map[string]struct {
		total, done growth.CoreSeconds
		wrong       float64
		want        remaining.Estimate
	}{
		"exact":                       {100, 30, 0, remaining.Exact(70)},
		"±30 %: the middle half":      {115, 0, 0.3, remaining.Estimate{Low: 100, Likely: 115, High: 115 / 0.85, Known: true}},
		"beyond what was declared":    {70, 80, 0.3, remaining.Estimate{Low: 0, Likely: 10, High: 20, Known: true}},
		"beyond all that is possible": {70, 100, 0.3, remaining.Estimate{}},
		"exact, and goes on":          {70, 70, 0, remaining.Estimate{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := remaining.FromDeclared(tc.total, tc.done, tc.wrong)
			require.Equal(t, tc.want.Known, got.Known)
			require.InDeltaSlice(t, []float64{float64(tc.want.Low), float64(tc.want.Likely), float64(tc.want.High)},
				[]float64{float64(got.Low), float64(got.Likely), float64(got.High)}, 1e-9)
		})
	}
}

func TestPresumed(t *testing.T) {
	for name, tc := range map[string]struct {
		done growth.CoreSeconds
		left remaining.Estimate
		want remaining.Estimate
	}{
		"at the beginning":         {0, remaining.Exact(100), remaining.Estimate{Low: 20, Likely: 40, High: 60, Known: true}},
		"some of it is done":       {20, remaining.Exact(80), remaining.Estimate{Low: 0, Likely: 20, High: 40, Known: true}},
		"it should have told":      {40, remaining.Exact(60), remaining.Estimate{}},
		"its end is not known":     {5, remaining.Estimate{}, remaining.Estimate{}},
		"it goes on after its end": {100, remaining.Exact(0), remaining.Estimate{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, remaining.TypicalWorkToTarget(tc.done, tc.left))
		})
	}
}

// shapes are metrics against steps, and the steps after which they have made 95 % of their way (to 1000 steps, or ever).
var shapes = map[string]struct {
	left      func(x float64) float64
	good      float64
	direction growth.Direction
}{
	"exponential loss":     {func(x float64) float64 { return 0.2 + 2*math.Exp(-x/100) }, 299.6, growth.Minimize},
	"exponential accuracy": {func(x float64) float64 { return 0.9 - 0.8*math.Exp(-x/100) }, 299.6, growth.Maximize},
	"tiny scale":           {func(x float64) float64 { return 1e-6 * math.Exp(-x/100) }, 299.6, growth.Minimize},
	"power law":            {func(x float64) float64 { return 1 + 5/(1+x/50) }, 489, growth.Minimize},
}

func TestNeedWithoutNoise(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			var c remaining.Curve
			for x := 0.0; x <= 150; x += 2 {
				c.Add(float64(x), shape.left(x))
			}
			at := func(done float64) remaining.Progress { return remaining.Progress{Done: done, Total: 1000, StepCost: 2} }
			got := c.WorkToTarget(shape.direction, at(150))
			require.True(t, got.Known)
			require.InEpsilon(t, 2*(shape.good-150), float64(got.Likely), 0.15)
			require.Zero(t, c.WorkToTarget(shape.direction, at(700)).Likely, "reached")
			require.False(t, c.WorkToTarget(-shape.direction, at(150)).Known, "it goes the wrong way")
			require.False(t, c.WorkToTarget(shape.direction, remaining.Progress{Done: 150, Total: 1000}).Known, "what a step costs is not known")
		})
	}
}

// Half-way to 95 %, with noise of 5 % of the whole way and now and then a wild report: how often does the interval hold
// the truth, and how far off is the likely value?
func TestCoverage(t *testing.T) {
	const repeats = 100
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			covered, known, off := 0, 0, 0.0
			way := math.Abs(shape.left(0) - shape.left(1e9))
			for seed := range uint64(repeats) {
				dice := rand.New(rand.NewPCG(seed, 5))
				var c remaining.Curve
				done := shape.good / 2
				for i := range 200 {
					x := done * float64(i) / 200
					noise := 0.05 * way * dice.NormFloat64()
					if dice.IntN(50) == 0 {
						noise *= 10
					}
					c.Add(float64(x), shape.left(x)+noise)
				}
				got := c.WorkToTarget(shape.direction, remaining.Progress{Done: done, Total: 1000, StepCost: 1})
				if !got.Known {
					continue
				}
				known++
				truth := growth.CoreSeconds(shape.good - done)
				if got.Low <= truth && truth <= got.High {
					covered++
				}
				off += math.Abs(float64(got.Likely/truth - 1))
			}
			t.Logf("known %d of %d, interval holds the truth %.0f %%, off by %.0f %%", known, repeats, 100*float64(covered)/float64(known), 100*off/float64(known))
			require.Greater(t, known, repeats*95/100)
			require.Greater(t, covered, known*70/100)
			require.Less(t, off/float64(known), 1.5)
		})
	}
}

func TestNothingIsKnownOf(t *testing.T) {
	for name, feed := range map[string]func(*remaining.Curve){
		"nothing": func(*remaining.Curve) {},
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
			dice := rand.New(rand.NewPCG(1, 6))
			for x := range 100 {
				c.Add(float64(x), dice.NormFloat64())
			}
		},
		"what is not a number": func(c *remaining.Curve) {
			for x := range 100 {
				c.Add(float64(x), math.NaN())
				c.Add(math.Inf(1), 1)
				c.Add(math.NaN(), float64(-x))
			}
		},
		"a job that began anew": func(c *remaining.Curve) {
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

// However long a job runs, a curve stays small, and survives being stored.
func TestACurveIsBounded(t *testing.T) {
	var c remaining.Curve
	for x := range 100_000 {
		c.Add(float64(x), math.Exp(-float64(x)/2e4))
	}
	require.LessOrEqual(t, len(c.Points), 64)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var again remaining.Curve
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, c.RemainingWork(growth.Minimize, remaining.Progress{Done: 1e5, StepCost: 1}), again.RemainingWork(growth.Minimize, remaining.Progress{Done: 1e5, StepCost: 1}))
	got := c.RemainingWork(growth.Minimize, remaining.Progress{StepCost: 1})
	require.InEpsilon(t, 2e4*math.Log(100), float64(got.Likely), 0.15)
	require.Less(t, got.Low, got.Likely)
	require.Greater(t, got.High, got.Likely)
}

// What was hardly anything of a job's way when it began is told apart after it has gone on for long. No report is lost.
func TestACurveKeepsItsBeginningFiner(t *testing.T) {
	const total = 100_000
	var c remaining.Curve
	for x := range total {
		c.Add(float64(x), 0)
	}
	reports, widest := 0, [2]float64{} // gaps in the first and in the last tenth
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
