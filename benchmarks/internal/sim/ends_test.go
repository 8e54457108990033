package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// `make sim-ends` has the figures.
func TestEndsStudy_JudgesEachHistory(t *testing.T) {
	all, err := EndsStudy(context.Background(), 1)
	require.NoError(t, err)
	for i, want := range []History{NoHistory, OfThisNode, OfTheCluster} {
		require.Equal(t, want, all[i].History)
		require.Positive(t, all[i].Covered.Value)
		require.LessOrEqual(t, all[i].Covered.Value, 100.0)
	}
	goals := EndsGoals(all)
	require.Len(t, goals, 9)
	require.Equal(t, "no history: in 80 % interval", goals[0].Name)
	require.NotNil(t, goals[0].Met)
}

// Worked by hand: a job that ends at 100.
func TestJudge(t *testing.T) {
	said := []estimate{
		{at: 10, low: 1000, likely: 1000, high: 1000}, // before the last arrival
		{at: 50, low: 90, likely: 110, high: 120},     // contains the end
		{at: 75, low: 80, likely: 90, high: 95},       // too early
		{at: 90, low: 100.9, likely: 101, high: 102},  // right, but for rounding
		{at: 100, low: 0, likely: 0, high: 0},         // at the end
	}
	f, some := judge(said, 20, 100)
	require.True(t, some)
	require.InDelta(t, 2./3, f.covered, 1e-9)
	require.InDelta(t, (10./50+10./25+1./10)/3, f.wrong, 1e-9)
	require.InDelta(t, (30./50+15./25+1.1/10)/3, f.width, 1e-9)
	_, some = judge(said, 20, 30)
	require.False(t, some)
}
