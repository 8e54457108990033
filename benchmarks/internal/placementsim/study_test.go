package placementsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/placementsim"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// The goal of the learned model, on few seeds.
func TestStudies_LearnedModelBeatsRivals(t *testing.T) {
	studies, err := placementsim.Studies(16, nil)
	require.NoError(t, err)
	again, err := placementsim.Studies(16, nil)
	require.NoError(t, err)
	require.Equal(t, studies, again, "the same seeds give the same result")
	var text strings.Builder
	placementsim.Table(&text, studies)
	t.Log(text.String())
	judged := 0
	for _, f := range placementsim.Figures(studies) {
		if f.Target == nil {
			continue
		}
		judged++
		result := fmt.Sprintf("%s: %.2f (%.2f to %.2f)", f.Name, f.Value, f.Low, f.High)
		require.True(t, f.Met(), result)
	}
	require.Equal(t, 6, judged)
}

// The two kinds ask for equal memory. One waits for data most of the time: next to it, jobs are hardly slowed down.
func TestRun_IADeepsRuleKnowsJobsByTheirActivities(t *testing.T) {
	e := placementsim.Experiment{
		Layout:   placementsim.Layout{Nodes: 2, GPUs: 4, Memory: 24 * growth.GiB},
		Workload: placementsim.Workload{Jobs: 40, Window: 500},
		Sharing:  placementsim.Plain,
		Speeds: placementsim.Speeds{
			Kinds: []placementsim.Kind{
				{Name: "waits", Memory: growth.GiB, Activity: 0.1},
				{Name: "computes", Memory: growth.GiB, Activity: 1},
			},
			Slowdown: [][]float64{{1.01, 1.1}, {1.1, 2}},
		},
	}
	completion := map[string]float64{}
	for _, r := range placementsim.Run(e, placementsim.Policies(), 8) {
		completion[r.Policy] = r.Completion.Seconds
		require.Less(t, r.Good.Seconds, r.Completion.Seconds)
		require.Positive(t, r.Good.Seconds)
	}
	require.Less(t, completion["IADeep's rule"], 0.98*completion["spread"])
}

// Worked by hand: one GPU, no choice.
func TestRun_SharesOneGPU(t *testing.T) {
	e := placementsim.Experiment{
		Layout:   placementsim.Layout{Nodes: 1, GPUs: 1, Memory: 24 * growth.GiB},
		Workload: placementsim.Workload{Jobs: 2, Window: 1e-9},
		Speeds: placementsim.Speeds{
			Kinds:    []placementsim.Kind{{Name: "k", Memory: growth.GiB}},
			Slowdown: [][]float64{{3}},
		},
	}
	completion := func(sharing placementsim.Sharing) float64 {
		e.Sharing = sharing
		return placementsim.Run(e, placementsim.Policies()[:1], 1)[0].Completion.Seconds
	}
	alone := e
	alone.Speeds.Slowdown = [][]float64{{1}}
	none := placementsim.Run(alone, placementsim.Policies()[:1], 1)[0].Completion.Seconds
	require.Greater(t, completion(placementsim.Plain), completion(placementsim.Turns), "speeds of 1/3 sum to less than 1")
	require.Greater(t, completion(placementsim.Turns), none)
	e.Speeds.Slowdown = [][]float64{{1.5}}
	require.InDelta(t, completion(placementsim.Plain), completion(placementsim.Turns), 1e-9, "speeds of 2/3 sum to more than 1")
}

func TestMeasured(t *testing.T) {
	a, b := interference.KindOf("m", "a"), interference.KindOf("m", "b")
	activities := map[interference.Kind]growth.Share{a: 0.25, b: 0.75}
	pair := func(own, other interference.Kind, speed, otherSpeed float64) interference.Measurement {
		return interference.Measurement{Seconds: 1, Set: []interference.Member{
			{Kind: own, Activity: activities[own], Speed: speed},
			{Kind: other, Activity: activities[other], Speed: otherSpeed},
		}}
	}
	sets := []interference.Measurement{pair(a, a, 0.5, 0.5), pair(b, b, 0.5, 0.5), pair(a, b, 0.8, 0.4)}
	s, err := placementsim.Measured("m", growth.GiB, sets)
	require.NoError(t, err)
	first, second := 1.25, 2.5
	if b < a {
		first, second = second, first
	}
	require.InDeltaSlice(t, []float64{2, first}, s.Slowdown[0], 1e-9)
	require.InDeltaSlice(t, []float64{second, 2}, s.Slowdown[1], 1e-9)
	kinds := []interference.Kind{min(a, b), max(a, b)}
	for i, k := range s.Kinds {
		require.InDelta(t, float64(activities[kinds[i]]), float64(k.Activity), 1e-9)
	}

	_, err = placementsim.Measured("m", growth.GiB, sets[:2])
	require.ErrorContains(t, err, "were not measured together")
	_, err = placementsim.Measured("m", growth.GiB, nil)
	require.ErrorContains(t, err, "there are none")
}
