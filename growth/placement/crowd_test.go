package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Jobs of this kind wait for data half of the time, and were measured together: each takes a quarter longer. Nothing
// else is expected of a new one, nor of one that has not reported yet.
func TestSlowdowns_AJobWithoutAReportIsAsActiveAsItsKind(t *testing.T) {
	kind := kindOf("old")
	learner := interference.NewLearner(interference.Prior())
	measured := interference.Member{Kind: kind, Activity: 0.5, Speed: 0.8}
	for range 20 {
		require.NoError(t, learner.Observe(interference.Measurement{
			Set:     []interference.Member{measured, measured},
			Seconds: 60,
		}))
	}
	model := learner.Model()
	for name, samples := range map[string]fakeJobs{
		"a resident that has reported":       {"old": {Reported: true, StepSeconds: 2, LoadSeconds: 1}},
		"a resident without a report":        {"old": {}},
		"a resident whose steps are unknown": {"old": {Reported: true}},
	} {
		t.Run(name, func(t *testing.T) {
			n := placement.NewNode("n", placement.Records{
				Inventory: bus.NodeGPUs{Unit: gib, GPUs: []bus.GPU{{UUID: "GPU-a", Memory: 24 * gib, Healthy: true}}},
				Reservations: map[growth.PodUID]bus.Reservation{
					"old": {GPUs: []growth.GPUShare{{GPU: "GPU-a", Memory: gib}}},
				},
				Jobs: samples,
			})
			job := placement.Newcomer{Kind: kind, Memory: gib, Count: 1}
			both := placement.Slowdowns(placement.MarginalGrowth{Model: &model}, n.GPUs[0], job)
			require.Len(t, both, 2)
			for _, s := range both {
				require.Equal(t, interference.FromMeasurement, s.Source)
				require.InDelta(t, 1.25, float64(s.After.Mean), 0.02)
			}
		})
	}
}

// Jobs of one kind were measured, and hardly slow one another down. "iadeep" places by that, "iadeep-literal" by the
// prior.
func TestIADeepLiteral_PredictsByThePriorOnly(t *testing.T) {
	learner := interference.NewLearner(interference.Prior())
	gentle := interference.Member{Kind: kindOf("old"), Activity: 1, Speed: 0.99}
	for range 20 {
		require.NoError(t, learner.Observe(interference.Measurement{
			Set:     []interference.Member{gentle, gentle},
			Seconds: 60,
		}))
	}
	model := learner.Model()
	g := gpu("GPU-a", gib)
	g.Residents[0].Kind = gentle.Kind
	job := placement.Newcomer{Kind: gentle.Kind, Memory: gib, Count: 1}
	for name, want := range map[string]struct {
		learns   bool
		slowdown float64
	}{
		"iadeep":         {true, 1.02},
		"iadeep-literal": {false, 1.31},
	} {
		policy, err := placement.NewPolicy(name, nil)
		require.NoError(t, err)
		policy, learns := placement.Predicting(policy, &model, 0)
		require.Equal(t, want.learns, learns, name)
		require.InDelta(t, want.slowdown, float64(placement.Slowdowns(policy, g, job)[0].After.Mean), 0.01, name)
	}
}
