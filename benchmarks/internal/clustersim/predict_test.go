package clustersim

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// One job has a node to itself under both systems; with three on one node, sharing fairly takes each to the end.
func TestPredict(t *testing.T) {
	one := []Solo{{Kind: "gru", Seconds: 100, Length: 0.5}}
	p, err := Predict(t.Context(), one, Nodes{Number: 3}, 20)
	require.NoError(t, err)
	require.InDelta(t, 100, p.DefaultCompletion.Median, 5)
	require.True(t, p.TrellisCompletion.Contains(100))
	require.True(t, p.CompletionChange.Contains(0))
	require.Zero(t, p.Moves.High)

	three := []Solo{one[0], one[0], one[0]}
	p, err = Predict(t.Context(), three, Nodes{Number: 1}, 20)
	require.NoError(t, err)
	require.True(t, p.DefaultMakespan.Contains(300))
	require.Greater(t, p.DefaultCompletion.Median, 280.0, "three equal jobs end together")
	require.Less(t, p.CompletionChange.High, -10.0, "and not under the shipped policy")
}

// A job alone is not slowed down. Of three equal ones, the next time slice is another job's in two of three cases; the shipped policy lets one
// job have most of them.
func TestPredict_CostOfSwitching(t *testing.T) {
	one := []Solo{{Kind: "gru", Seconds: 100, Length: 0.5}}
	p, err := Predict(t.Context(), one, Nodes{Number: 3, Switching: 0.3}, 20)
	require.NoError(t, err)
	require.InDelta(t, 100, p.DefaultCompletion.Median, 5)

	three := []Solo{one[0], one[0], one[0]}
	free, err := Predict(t.Context(), three, Nodes{Number: 1}, 20)
	require.NoError(t, err)
	costly, err := Predict(t.Context(), three, Nodes{Number: 1, Switching: 0.3}, 20)
	require.NoError(t, err)
	require.InDelta(t, 1.2, costly.DefaultMakespan.Median/free.DefaultMakespan.Median, 0.02, "the last of them is alone for a moment only")
	require.InDelta(t, 1.05, costly.TrellisMakespan.Median/free.TrellisMakespan.Median, 0.05)
}

// The start and the end of a pod are part of a job's time. On a node with other jobs they cost these nothing.
func TestPredict_PodsStartAndEnd(t *testing.T) {
	one := []Solo{{Kind: "gru", Seconds: 100, Length: 0.5}}
	idle := Nodes{Number: 1, Starting: 6, Ending: 4}
	p, err := Predict(t.Context(), one, idle, 20)
	require.NoError(t, err)
	require.InDelta(t, 110, p.DefaultCompletion.Median, 5)
	require.InDelta(t, 110, p.TrellisMakespan.Median, 5)

	p, err = Predict(t.Context(), []Solo{one[0], one[0], one[0]}, idle, 20)
	require.NoError(t, err)
	require.InDelta(t, 310, p.DefaultMakespan.Median, 10)
}

func TestPredict_ImpossibleNodes(t *testing.T) {
	one := []Solo{{Kind: "gru", Seconds: 100, Length: 0.5}}
	for name, tc := range map[string]struct {
		nodes Nodes
		want  string
	}{
		"none":                             {Nodes{}, "give at least one"},
		"switches that cost too much":      {Nodes{Number: 1, Switching: 0.6}, "at most 0.5 is possible"},
		"switches that gain too much":      {Nodes{Number: 1, Switching: -0.6}, "at most 0.5 is possible"},
		"switches without a number":        {Nodes{Number: 1, Switching: math.NaN()}, "at most 0.5 is possible"},
		"pods that end before they are":    {Nodes{Number: 1, Ending: -1}, "from 0 to 60 s is possible"},
		"pods that take forever to start":  {Nodes{Number: 1, Starting: math.Inf(1)}, "from 0 to 60 s is possible"},
		"pods whose start is not a number": {Nodes{Number: 1, Starting: math.NaN()}, "from 0 to 60 s is possible"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Predict(t.Context(), one, tc.nodes, 20)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// Where the nodes of the jobs are known, luck is not drawn.
func TestPredictOn(t *testing.T) {
	one := Solo{Kind: "gru", Seconds: 100, Length: 0.5}
	jobs := []Solo{one, one}
	p, err := PredictOn(t.Context(), jobs, Nodes{Number: 2}, [2][]int{{1, 1}, {0, 1}}, 20)
	require.NoError(t, err)
	require.InDelta(t, 200, p.DefaultMakespan.Median, 10, "both on one node")
	require.InDelta(t, 105, p.TrellisMakespan.Median, 10, "each on a node of its own")
	for name, placed := range map[string][2][]int{
		"a node that is not there": {{0, 1}, {0, 2}},
		"a job without a node":     {{0}, {0, 1}},
		"no jobs":                  {},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := PredictOn(t.Context(), jobs, Nodes{Number: 2}, placed, 20)
			require.ErrorContains(t, err, "give each job one of the nodes")
		})
	}
}

func TestPredict_IsDeterministicAndCanBeStopped(t *testing.T) {
	jobs := []Solo{{Kind: "vae", Seconds: 60, Length: 1}, {Kind: "rnn", Arrival: 10, Seconds: 90, Length: 0.7}}
	first, err := Predict(t.Context(), jobs, Nodes{Number: 2}, 5)
	require.NoError(t, err)
	again, err := Predict(t.Context(), jobs, Nodes{Number: 2}, 5)
	require.NoError(t, err)
	require.Equal(t, first, again)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Predict(ctx, jobs, Nodes{Number: 2}, 5)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Predict(t.Context(), nil, Nodes{Number: 2}, 5)
	require.Error(t, err)
}

func TestRangeOf(t *testing.T) {
	values := make([]float64, 101)
	for i := range values {
		values[i] = float64(100 - i)
	}
	require.Equal(t, Range{Median: 50, Low: 3, High: 98}, rangeOf(values))
	require.Equal(t, Range{Median: 7, Low: 7, High: 7}, rangeOf([]float64{7}))
}
