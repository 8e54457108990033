package clustersim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A twentieth of the scale that ships, by what is computed and not by the time that it takes.
func TestLarge_ComputesOnlyWhatChanges(t *testing.T) {
	s := Scale().Divided(20)
	l := RunLarge(s, 1)
	t.Logf("%+v", l)
	require.Equal(t, l, RunLarge(s, 1), "the same seed has the same result")
	interval := automatic{}.interval()
	changes := 2*s.Jobs + 4*l.Moves // a job begins and ends; one that moves is announced, leaves, and begins again
	require.LessOrEqual(t, l.Counts.Decisions, s.Workers*int(l.Makespan/interval+1)+changes,
		"a node decides once an interval, and when its jobs change")
	require.LessOrEqual(t, l.Counts.Scores, s.Workers+l.Counts.Decisions+changes, "a node is scored again if it has changed")
	require.LessOrEqual(t, l.Counts.Views, int(l.Makespan/interval)+1)
	require.LessOrEqual(t, l.Counts.Events, l.Counts.Decisions+changes+l.Counts.Views)
	require.LessOrEqual(t, l.Counts.Steps, l.Counts.Events*s.Workers, "no node lives through an interval twice")
	require.Greater(t, l.Completion, 100.0)
}

func TestLarge_GrowsInProportionToTheCluster(t *testing.T) {
	half, whole := RunLarge(Scale().Divided(40), 1).Counts, RunLarge(Scale().Divided(20), 1).Counts
	for name, of := range map[string][2]int{
		"decisions": {half.Decisions, whole.Decisions},
		"scores":    {half.Scores, whole.Scores},
		"events":    {half.Events, whole.Events},
	} {
		require.Less(t, float64(of[1])/float64(of[0]), 2.3, name)
	}
}

func TestLarge_EveryJobEnds(t *testing.T) {
	s := Scale().Divided(100)
	jobs := s.draw(1)
	got := newCluster(s, shipped(), 1).run(jobs)
	for i, j := range jobs {
		require.Greater(t, got.ends[i], j.Work/j.Limit-1e-3, "no job ends before it could have alone")
		require.LessOrEqual(t, got.moves[i], 2)
	}
}
