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
	p, err := Predict(t.Context(), one, 0, 3, 20)
	require.NoError(t, err)
	require.InDelta(t, 100, p.DefaultCompletion.Median, 5)
	require.True(t, p.TrellisCompletion.Contains(100))
	require.True(t, p.CompletionChange.Contains(0))
	require.Zero(t, p.Moves.High)

	three := []Solo{one[0], one[0], one[0]}
	p, err = Predict(t.Context(), three, 0, 1, 20)
	require.NoError(t, err)
	require.True(t, p.DefaultMakespan.Contains(300))
	require.Greater(t, p.DefaultCompletion.Median, 280.0, "three equal jobs end together")
	require.Less(t, p.CompletionChange.High, -10.0, "and not under the shipped policy")
}

// A job alone is not slowed down. Of three equal ones, the next time slice is another job's in two of three cases; the shipped policy lets one
// job have most of them.
func TestPredict_CostOfSwitching(t *testing.T) {
	one := []Solo{{Kind: "gru", Seconds: 100, Length: 0.5}}
	p, err := Predict(t.Context(), one, 0.3, 3, 20)
	require.NoError(t, err)
	require.InDelta(t, 100, p.DefaultCompletion.Median, 5)

	three := []Solo{one[0], one[0], one[0]}
	free, err := Predict(t.Context(), three, 0, 1, 20)
	require.NoError(t, err)
	costly, err := Predict(t.Context(), three, 0.3, 1, 20)
	require.NoError(t, err)
	require.InDelta(t, 1.2, costly.DefaultMakespan.Median/free.DefaultMakespan.Median, 0.02, "the last of them is alone for a moment only")
	require.InDelta(t, 1.05, costly.TrellisMakespan.Median/free.TrellisMakespan.Median, 0.05)

	for _, impossible := range []float64{0.6, -0.6, math.NaN(), math.Inf(1)} {
		_, err = Predict(t.Context(), three, impossible, 1, 20)
		require.ErrorContains(t, err, "at most 0.5 is possible")
	}
}

func TestPredict_IsDeterministicAndCanBeStopped(t *testing.T) {
	jobs := []Solo{{Kind: "vae", Seconds: 60, Length: 1}, {Kind: "rnn", Arrival: 10, Seconds: 90, Length: 0.7}}
	first, err := Predict(t.Context(), jobs, 0, 2, 5)
	require.NoError(t, err)
	again, err := Predict(t.Context(), jobs, 0, 2, 5)
	require.NoError(t, err)
	require.Equal(t, first, again)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Predict(ctx, jobs, 0, 2, 5)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Predict(t.Context(), nil, 0, 2, 5)
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
