package turn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// plans are what FuzzScheduler chooses from.
var plans = []turn.Planned{
	{Jobs: []turn.Job{one("a", 1, "x"), one("b", .5, "x", "y"), one("c", 0, "y")}},
	{Jobs: []turn.Job{one("a", 1, "x")}},
	{Jobs: []turn.Job{one("a", 1, "x"), one("b", .5, "x", "y"), one("c", 0, "y"), one("d", .2, "x")}},
	{Jobs: []turn.Job{one("a", .25, "x"), one("b", .5, "x", "y"), always(one("d", .2, "x"))}},
	{Jobs: []turn.Job{one("a", .25, "x"), one("c", .5, "y"), one("d", .2, "x")}, Open: true},
	{},
	{Jobs: []turn.Job{inSet(one("a", 1, "x"), 1, .9), one("b", .5, "x", "y"), one("c", 0, "y"), inSet(one("d", .2, "x"), 1, .6)}},
	{Jobs: []turn.Job{inSet(one("a", .1, "x"), 1, .9), inSet(one("b", .5, "x"), 1, .8), inSet(one("c", 0, "x"), 2, .97), inSet(one("d", .2, "x"), 2, .6)}},
}

func inSet(j turn.Job, set int, speed float64) turn.Job {
	j.Set, j.Speed = set, speed
	return j
}

func always(j turn.Job) turn.Job {
	j.Always = true
	return j
}

// FuzzScheduler sends any events in any order, as false or hostile jobs could, and sets the clock. The scheduler does what
// the reference implementation does, and keeps the promises of the package.
func FuzzScheduler(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 200, 1, 2, 3})
	f.Add([]byte{5, 5, 5, 0, 17, 34, 51, 255, 255, 1, 18, 35})
	f.Add([]byte{38, 0, 17, 33, 49, 255, 4, 255, 1, 4, 255, 17, 4, 255, 33, 253, 6, 1, 22, 17, 54, 0, 70, 17, 86, 6})
	f.Add([]byte{102, 1, 49, 17, 33, 4, 255, 2, 54, 118, 1, 49, 33, 17, 255, 4, 255, 22, 1, 17})
	f.Fuzz(func(t *testing.T, script []byte) {
		c := &comparison{t: t, s: turn.New(turn.Default), r: newReference(turn.Default), now: start}
		c.step(plans[0])
		for _, b := range script {
			c.now = c.now.Add(time.Duration(b) * 7 * time.Millisecond)
			switch b {
			case 253:
				c.now = c.now.Add(-time.Hour)
			case 254:
				c.now = c.now.Add(time.Hour)
			}
			id := []growth.PodUID{"a", "b", "c", "d"}[int(b>>4)%4]
			c.step([]turn.Event{
				turn.Opened{Job: id}, turn.Waits{Job: id}, turn.Pauses{Job: id}, turn.Left{Job: id},
				turn.Woken{}, turn.Waits{Job: id}, plans[int(b>>4)%len(plans)], turn.Asked{Job: id},
			}[b%8])
		}
	})
}

// comparison steps a scheduler and the reference implementation.
type comparison struct {
	t   *testing.T
	s   *turn.Scheduler
	r   *reference
	now time.Time
}

func (c *comparison) step(e turn.Event) {
	before := map[growth.PodUID]turn.State{}
	for id := range c.r.jobs {
		before[id] = c.s.State(id)
	}
	effects := c.s.Step(c.now, e)
	expected := c.r.Step(c.now, e)
	require.Equal(c.t, expected, effects, "%T%+v", e, e)
	uses := c.s.Use(c.now)
	require.Len(c.t, uses, len(c.r.jobs))
	for id, j := range c.r.jobs {
		require.Equal(c.t, j.state, c.s.State(id), id)
		require.Equal(c.t, j.use.Held, uses[id].Held, id)
		require.Equal(c.t, j.use.Alone, uses[id].Alone, id)
		require.Equal(c.t, j.use.Waited, uses[id].Waited, id)
	}
	var queue []growth.PodUID
	for _, j := range c.r.queue() {
		queue = append(queue, j.ID)
	}
	require.Equal(c.t, queue, c.s.Queue())
	c.promises(e, before, effects)
}

// promises checks that a turn goes to a ready job only, that no GPU is given to two jobs unless they are one set, and that a scheduler with a job that
// waits wakes up again.
func (c *comparison) promises(e turn.Event, before map[growth.PodUID]turn.State, effects turn.Effects) {
	for _, id := range effects.Grant {
		waits, ok := e.(turn.Waits)
		require.True(c.t, before[id] == turn.Ready || ok && waits.Job == id, "%s was not ready", id)
		require.Equal(c.t, turn.Holding, c.s.State(id))
		j := c.r.jobs[id]
		require.True(c.t, c.r.open || j.Always || len(c.r.blocking(j)) == 0, "a GPU of %s has another holder", id)
	}
	require.False(c.t, effects.Wake.Before(c.now) && !effects.Wake.IsZero(), "wakes %v ago", c.now.Sub(effects.Wake))
	if len(c.s.Queue()) > 0 {
		require.False(c.t, effects.Wake.IsZero(), "%v wait, and nothing wakes the scheduler", c.s.Queue())
	}
}
