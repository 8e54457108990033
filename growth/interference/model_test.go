package interference_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// pairs are the sums of both jobs' relative increase of step time that IADeep published for two jobs on one GPU. The
// corrupt row (−0.381) is omitted.
var pairs = []float64{0.080, 0.284, 0.296, 0.486, 0.656, 0.718, 0.724, 0.732, 0.905, 0.932, 1.050}

func TestPrior_MatchesThePublishedPairs(t *testing.T) {
	var sum, squares float64
	for _, both := range pairs {
		sum += both / 2
	}
	mean := sum / float64(len(pairs))
	for _, both := range pairs {
		squares += (both/2 - mean) * (both/2 - mean)
	}
	prior := interference.Prior()
	require.InDelta(t, mean, float64(prior.Contention), 0.005)
	require.InDelta(t, math.Sqrt(squares/float64(len(pairs)-1)), float64(prior.Deviation), 0.005)
}

func TestModel_Slowdown(t *testing.T) {
	m := interference.Model{Contention: 0.4, Deviation: 0.1}
	for name, tc := range map[string]struct {
		own, others     growth.Share
		mean, deviation growth.Slowdown
	}{
		"a job alone":                        {1, 0, 1, 0},
		"another job never waits":            {1, 1, 1.4, 0.1},
		"two other jobs never wait":          {1, 2, 1.8, 0.2},
		"the job waits half of the time":     {0.5, 1, 1.2, 0.05},
		"the job always waits":               {0, 3, 1, 0},
		"a negative activity counts as zero": {1, -1, 1, 0},
		"another job waits half of the time": {1, 0.5, 1.2, 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			p := m.Slowdown(tc.own, tc.others)
			require.InDelta(t, float64(tc.mean), float64(p.Mean), 1e-12)
			require.InDelta(t, float64(tc.deviation), float64(p.Deviation), 1e-12)
			require.InDelta(t, float64(tc.mean+tc.deviation), float64(p.Cautious()), 1e-12)
		})
	}
}

// For any model, a slowdown is at least 1. Its mean and deviation grow with the activity of other jobs.
func TestModel_SlowdownGrowsWithTheOtherJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 10_000 {
		m := interference.Model{Contention: growth.Slowdown(rng.Float64()), Deviation: growth.Slowdown(rng.Float64())}
		own, others, another := growth.Share(rng.Float64()), growth.Share(5*rng.Float64()), growth.Share(rng.Float64())
		few, many := m.Slowdown(own, others), m.Slowdown(own, others+another)
		require.GreaterOrEqual(t, few.Mean, growth.Slowdown(1))
		require.GreaterOrEqual(t, many.Mean, few.Mean)
		require.GreaterOrEqual(t, many.Deviation, few.Deviation)
	}
}

func TestPredictionOf(t *testing.T) {
	p := interference.PredictionOf(0.5, 0.05)
	require.InDelta(t, 2, float64(p.Mean), 1e-9)
	require.InDelta(t, 0.2, float64(p.Deviation), 1e-9)
	require.InDelta(t, 1/0.564, float64(p.Low), 0.01)
	require.InDelta(t, 1/0.436, float64(p.High), 0.01)
	for _, deviation := range []float64{0, 0.3} { // seen to do nothing next to others
		p = interference.PredictionOf(0, deviation)
		_, err := json.Marshal(p)
		require.NoError(t, err, "an event and --explain have it")
		require.InDelta(t, 32, float64(p.Mean), 1e-9)
		require.LessOrEqual(t, p.Low, p.High)
	}
}
