package clustersim

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// tiny is a schedule that takes a moment.
var tiny = Schedule{Name: "tiny", Workers: 2, Jobs: 5, Window: 100, Mixed: true}

func TestSystems_RunEveryJobToItsEnd(t *testing.T) {
	for _, system := range Systems() {
		t.Run(system.Name, func(t *testing.T) {
			jobs := tiny.draw(1)
			got := newCluster(tiny, system, 1).run(jobs)
			last := 0.0
			for i, j := range jobs {
				require.Greater(t, got.ends[i], j.Work/j.Limit-1e-3, "no job ends before it could have alone")
				require.LessOrEqual(t, got.moves[i], 2)
				last = max(last, j.Arrival+got.ends[i])
			}
			require.InDelta(t, last, got.makespan, 1e-6)
			require.Equal(t, got, newCluster(tiny, system, 1).run(tiny.draw(1)), "the same seed has the same result")
		})
	}
}

// Moves that are made must be of jobs that run, so that none is lost: here every job is moved all the time.
type restless struct{}

func (restless) interval() float64 { return 7 }

func (restless) choose(c *cluster) (moves []specon.Move) {
	for i, w := range c.workers {
		for _, j := range w.jobs {
			moves = append(moves, specon.Move{Job: j.ID(), From: w.name, To: c.workers[1-i].name})
		}
	}
	return moves
}

func TestCluster_LosesNoJobThatMoves(t *testing.T) {
	system := System{Name: "restless", node: harmlessNode, place: spread, moves: func() mover { return restless{} }}
	got := newCluster(tiny, system, 1).run(tiny.draw(1))
	require.NotContains(t, got.ends, 0.0)
	require.Greater(t, slices.Min(got.moves), 2)
	require.Greater(t, got.makespan, newCluster(tiny, Systems()[0], 1).run(tiny.draw(1)).makespan, "moving takes time")
}

// A pool of all CPUs with one job after the other: 10 s each, then both at once.
func TestPooled(t *testing.T) {
	jobs := []sim.Job{{Work: 20, Limit: 2}, {Work: 30, Limit: 2}, {Arrival: 100, Work: 10, Limit: 1}}
	got := runPooled(jobs, 2)
	require.InDeltaSlice(t, []float64{10, 25, 10}, got.ends, 1e-9)
	require.InDelta(t, 110, got.makespan, 1e-9)
	both := runPooled([]sim.Job{{Work: 20, Limit: 1}, {Work: 30, Limit: 1}}, 2)
	require.InDeltaSlice(t, []float64{20, 30}, both.ends, 1e-9)
}

// The first case is as long as its longest job, the second as all work on all CPUs, the third as the work from the last arrival on.
func TestLowerBounds(t *testing.T) {
	for want, jobs := range map[float64][]sim.Job{
		30:  {{Work: 30, Limit: 1}, {Work: 10, Limit: 2}},
		25:  {{Work: 20, Limit: 2}, {Work: 30, Limit: 2}},
		120: {{Work: 20, Limit: 2}, {Arrival: 100, Work: 20, Limit: 2}, {Arrival: 100, Work: 20, Limit: 2}},
	} {
		got := lowerBounds(jobs, 2)
		require.InDelta(t, want, got.makespan, 1e-9)
		for i, j := range jobs {
			require.InDelta(t, j.Work/j.Limit, got.ends[i], 1e-9)
		}
		require.GreaterOrEqual(t, runPooled(jobs, 2).makespan, got.makespan-1e-9)
	}
}

func TestCompare(t *testing.T) {
	was := []outcome{{ends: []float64{100, 100}, makespan: 200}}
	is := []outcome{{ends: []float64{50, 110}, makespan: 180, moves: []int{0, 1}, unevenness: 18}}
	is[0].moves = []int{0, 1}
	r := compare(was, is)
	require.InDelta(t, -20, r.CompletionChange.Value, 1e-9)
	require.InDelta(t, -10, r.MakespanChange.Value, 1e-9)
	require.InDelta(t, 50, r.Slower.Value, 1e-9)
	require.InDelta(t, 50, r.Harmed.Value, 1e-9)
	require.InDelta(t, 10, r.Worst.Value, 1e-9)
	require.InDelta(t, 0.5, r.Moves.Value, 1e-9)
	require.Equal(t, 1, r.MostMoves)
	require.InDelta(t, 10, r.Balance.Value, 1e-9)
}

func TestFigures_OnlyTheMixedScheduleIsJudged(t *testing.T) {
	var rows []Row
	_, err := Run(context.Background(), 2, []Schedule{tiny}, Systems()[:1], func(r Row) { rows = append(rows, r) })
	require.NoError(t, err)
	require.Equal(t, []string{Default, Pooled, Bound}, []string{rows[0].System, rows[1].System, rows[2].System})
	rows[1].System, rows[1].Schedule.Name = Trellis, judged
	judgedFigures := 0
	for _, f := range Figures(rows) {
		if f.Target != nil {
			judgedFigures++
		}
	}
	require.Equal(t, 5, judgedFigures)
}
