package clustersim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// crowded returns a cluster of an idle worker and one with two jobs, which have run there for some seconds.
func crowded(seconds float64) *cluster {
	c := newCluster(Schedule{Workers: 2, Jobs: 2}, System{node: fairNode, place: spread}, 1)
	for i := range 2 {
		j := &job{
			Running: sim.Running{Index: i, Job: sim.Job{Kind: "vae", Work: 500 * workerCores, Limit: workerCores, Wrong: 1}},
			created: date(0),
		}
		j.on = c.workers[0]
		c.start(j)
	}
	c.decide()
	c.advance(seconds)
	return c
}

// The decision is that of package rebalance, so all that it needs to know has to be true of the simulated jobs.
func TestAutomatic(t *testing.T) {
	tests := map[string]struct {
		change func(c *cluster)
		after  float64
		moves  int
	}{
		"two jobs next to an idle worker":           {after: 70, moves: 1},
		"less than a minute on its node":            {after: 50},
		"no sample of a job that has just come":     {after: 70, change: func(c *cluster) { c.workers[0].jobs[1].placed = 66 }},
		"moved twice":                               {after: 70, change: eachJob(func(j *job) { j.history.Count = 2 })},
		"its program's moves took long":             {after: 70, change: func(c *cluster) { c.moved = []*job{hasMoved("vae", 400)} }},
		"moves of another program took long":        {after: 70, moves: 1, change: func(c *cluster) { c.moved = []*job{hasMoved("gru", 400)} }},
		"a job moves to the idle worker already":    {after: 70, change: func(c *cluster) { c.moving = []transfer{onWay("else", "worker-2")} }},
		"a job moves from the idle worker":          {after: 70, change: func(c *cluster) { c.moving = []transfer{onWay("worker-2", "else")} }},
		"a job moves between other workers":         {after: 70, moves: 1, change: func(c *cluster) { c.moving = []transfer{onWay("else", "more")} }},
		"as many jobs move as may at the same time": {after: 70, change: func(c *cluster) { c.moving = []transfer{onWay("x", "y"), onWay("y", "z")} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := crowded(test.after)
			if test.change != nil {
				test.change(c)
			}
			require.Len(t, automatic{specon.DefaultRule()}.choose(c), test.moves)
		})
	}
}

func eachJob(change func(*job)) func(*cluster) {
	return func(c *cluster) {
		for _, j := range c.workers[0].jobs {
			change(j)
		}
	}
}

// hasMoved returns a job of a program that has moved once, in some seconds.
func hasMoved(kind string, took growth.Seconds) *job {
	r := move.Record{ID: "m", From: "else", To: "more", State: move.Done, Gone: true, Began: date(0), Since: date(float64(took))}
	return &job{Running: sim.Running{Job: sim.Job{Kind: kind}}, history: move.History{}.With(r)}
}

func onWay(from, to growth.NodeName) transfer {
	return transfer{record: move.Record{From: from, To: to}}
}

// A job that moves runs nowhere for the time of the move, and its record ends as one of the extender does.
func TestCluster_AMoveTakesItsStates(t *testing.T) {
	c := crowded(70)
	c.move(automatic{specon.DefaultRule()}.choose(c))
	moving := c.moving[0]
	require.Equal(t, []int{1, 0}, []int{len(c.workers[0].jobs), len(c.workers[1].jobs)})
	r := moving.done()
	took := r.Since.Sub(r.Began)
	require.Equal(t, move.Done, r.State)
	require.True(t, r.Gone)
	require.Equal(t, growth.NodeName("worker-2"), r.On)
	require.Equal(t, date(70), r.Began)
	require.Equal(t, date(moving.end()), r.Since)
	require.Zero(t, r.Delay, "no job is on the target")
	cost := r.Cost()
	require.InDelta(t, took.Seconds(), (cost.Save + cost.Evict + cost.Place + cost.Restore).Seconds(), 1e-6)
	require.InDelta(t, 0.25*took.Seconds(), cost.Save.Seconds(), 1e-6)

	c.now = moving.end()
	c.land()
	require.Empty(t, c.moving)
	j := c.workers[1].jobs[0]
	require.Equal(t, 1, j.history.Count)
	require.Equal(t, r.Times.Evicted, j.created, "the new pod is created when the old one is gone")
	require.Equal(t, []*job{j}, c.moved)
}
