package turn_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

var start = time.Unix(1_700_000_000, 0)

func one(id string, share float64, gpus ...growth.GPU) turn.Job {
	if gpus == nil {
		gpus = []growth.GPU{"gpu"}
	}
	return turn.Job{ID: growth.PodUID(id), Share: growth.Share(share), GPUs: gpus}
}

// member returns a job of a set on the GPU x.
func member(id string, share float64, set int, speed float64) turn.Job {
	return inSet(one(id, share, "x"), set, speed)
}

func ids(names ...string) []growth.PodUID {
	var list []growth.PodUID
	for _, name := range names {
		list = append(list, growth.PodUID(name))
	}
	return list
}

// script steps a scheduler through a sequence of events.
type script struct {
	t  *testing.T
	s  *turn.Scheduler
	at time.Duration
}

func begin(t *testing.T, jobs ...turn.Job) *script {
	p := &script{t: t, s: turn.New(turn.Default)}
	p.step(turn.Planned{Jobs: jobs})
	return p
}

func (p *script) step(e turn.Event) turn.Effects { return p.s.Step(start.Add(p.at), e) }

func (p *script) after(d time.Duration) *script {
	p.at += d
	return p
}

func TestScheduler_AJobAloneIsNeverPaused(t *testing.T) {
	p := begin(t, one("a", 1))
	require.Empty(t, p.step(turn.Opened{Job: "a"}))
	require.Empty(t, p.after(time.Minute).step(turn.Woken{}))
	require.Empty(t, p.step(turn.Pauses{Job: "a"}))
	require.Equal(t, turn.Effects{Grant: ids("a")}, p.step(turn.Waits{Job: "a"}))
	use := p.s.Use(start.Add(p.at))["a"]
	require.Equal(t, turn.Use{Held: time.Minute - 30*time.Second, Alone: 30 * time.Second}, use, "at most MaxGap per step")
}

func TestScheduler_TheNextJobWaitsForTheAnswer(t *testing.T) {
	p := begin(t, one("a", .5), one("b", .5))
	p.step(turn.Opened{Job: "a"})
	require.Equal(t, ids("b"), p.step(turn.Opened{Job: "b"}).Revoke, "a second job that computes stops after its step")
	require.Empty(t, p.step(turn.Waits{Job: "b"}).Grant)
	effects := p.after(time.Second).step(turn.Woken{})
	require.Equal(t, ids("a"), effects.Revoke)
	require.Empty(t, effects.Grant)
	require.Equal(t, start.Add(p.at+turn.Default.Timeout), effects.Wake)
	effects = p.after(time.Millisecond).step(turn.Waits{Job: "a"})
	require.Equal(t, ids("b"), effects.Grant)
	require.Equal(t, start.Add(p.at+turn.Default.Period/2), effects.Wake, "half of the period")
}

func TestScheduler_AHolderThatDoesNotAnswerBlocksNoOther(t *testing.T) {
	for name, ends := range map[string]struct {
		event turn.Event
		state turn.State
	}{
		"it answers late":          {turn.Waits{Job: "a"}, turn.Ready},
		"it was saving":            {turn.Pauses{Job: "a"}, turn.Idle},
		"it is killed":             {turn.Left{Job: "a"}, turn.Absent},
		"it says that it computes": {turn.Opened{Job: "a"}, turn.Overdue},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, one("a", .5), one("b", .5))
			p.step(turn.Opened{Job: "a"})
			p.step(turn.Waits{Job: "b"})
			p.after(time.Second).step(turn.Woken{})
			effects := p.after(turn.Default.Timeout).step(turn.Woken{})
			require.Equal(t, ids("a"), effects.Overdue)
			require.Equal(t, ids("b"), effects.Grant)
			p.after(10 * time.Second).step(turn.Woken{})
			use := p.s.Use(start.Add(p.at))
			require.Equal(t, 16*time.Second, use["a"].Held, "it is charged until it answers")
			require.Equal(t, 10*time.Second, use["b"].Held)
			require.Zero(t, use["b"].Alone)
			p.step(ends.event)
			require.Equal(t, ends.state, p.s.State("a"))
		})
	}
}

func TestScheduler_AJobThatWaitsForDataDoesNotWaitForAQuantum(t *testing.T) {
	p := begin(t, one("data", .5), one("full", .5))
	p.step(turn.Opened{Job: "full"})
	p.after(300 * time.Millisecond).step(turn.Pauses{Job: "data"})
	require.Equal(t, ids("full"), p.step(turn.Waits{Job: "data"}).Revoke)
	require.Equal(t, ids("data"), p.step(turn.Waits{Job: "full"}).Grant)
	require.Equal(t, ids("full"), p.after(5*time.Millisecond).step(turn.Pauses{Job: "data"}).Grant, "and no job waits for it")
}

func TestScheduler_JobsOnSeveralGPUs(t *testing.T) {
	p := begin(t, one("both", .5, "x", "y"), one("x", .5, "x"), one("y", .5, "y"))
	for _, id := range ids("x", "y", "both") {
		p.step(turn.Waits{Job: id})
	}
	require.Equal(t, turn.Holding, p.s.State("x"))
	require.Equal(t, turn.Holding, p.s.State("y"), "two GPUs, two holders")
	require.Equal(t, ids("x", "y"), p.after(time.Second).step(turn.Woken{}).Revoke)
	require.Empty(t, p.step(turn.Waits{Job: "x"}).Grant, "x is reserved")
	require.Equal(t, ids("both"), p.after(time.Millisecond).step(turn.Waits{Job: "y"}).Grant)
}

func TestScheduler_OpenGroupsAndJobsThatCannotBePaused(t *testing.T) {
	spans := one("spans", .5)
	spans.Always = true
	p := begin(t, spans, one("a", .25), one("b", .25))
	p.step(turn.Opened{Job: "spans"})
	p.step(turn.Waits{Job: "a"})
	p.step(turn.Waits{Job: "b"})
	require.Equal(t, ids("a"), p.after(time.Second).step(turn.Woken{}).Revoke, "the others share what is left")
	require.Equal(t, turn.Holding, p.s.State("spans"))

	effects := p.step(turn.Planned{Jobs: []turn.Job{one("a", .5), one("b", .5)}, Open: true})
	require.Equal(t, ids("b"), effects.Grant, "in an open group no job waits")
	require.Equal(t, ids("a"), p.step(turn.Waits{Job: "a"}).Grant)
	require.Empty(t, p.after(time.Minute).step(turn.Woken{}).Revoke)
	effects = p.step(turn.Planned{Jobs: []turn.Job{one("a", .5), one("b", .5)}})
	require.Len(t, effects.Revoke, 1, "one of two that compute continues")
}

func TestScheduler_ClockJumpsHarmNoJob(t *testing.T) {
	for name, jump := range map[string]time.Duration{"forwards": 5 * time.Hour, "backwards": -5 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, one("a", .5), one("b", .5))
			p.step(turn.Opened{Job: "a"})
			effects := p.step(turn.Waits{Job: "b"})
			left := effects.Wake.Sub(start.Add(p.at))
			effects = p.after(jump).step(turn.Woken{})
			if jump < 0 {
				require.Equal(t, left, effects.Wake.Sub(start.Add(p.at)), "the rest of the quantum")
			} else {
				require.Equal(t, ids("a"), effects.Revoke)
			}
			p.step(turn.Waits{Job: "a"})
			require.LessOrEqual(t, p.s.Use(start.Add(p.at))["a"].Held, 30*time.Second)
			require.True(t, slices.Contains([]turn.State{turn.Holding, turn.Ready}, p.s.State("b")))
		})
	}
}

func TestScheduler_ASetHoldsTheTurnTogether(t *testing.T) {
	p := begin(t, member("a", .3, 1, .9), member("b", .2, 1, .9), one("c", .5, "x"))
	p.step(turn.Waits{Job: "a"})
	require.Equal(t, ids("b"), p.step(turn.Waits{Job: "b"}).Grant, "b holds next to a at once")
	effects := p.step(turn.Waits{Job: "c"})
	require.Empty(t, effects.Grant)
	quantum := effects.Wake.Sub(start.Add(p.at))
	require.Positive(t, quantum)
	require.Equal(t, ids("a", "b"), p.after(quantum).step(turn.Woken{}).Revoke, "the turn of all of them ends")
	require.Empty(t, p.step(turn.Waits{Job: "a"}).Grant, "b still computes")
	require.Equal(t, ids("c"), p.step(turn.Waits{Job: "b"}).Grant)
	use := p.s.Use(start.Add(p.at))["a"]
	require.Equal(t, quantum, use.Held)
	require.Zero(t, use.Alone)
	require.Equal(t, []turn.Together{{Others: ids("b"), Held: quantum}}, use.Together)
}

func TestScheduler_AMemberJoinsOnlyUntilTheTurnEnds(t *testing.T) {
	p := begin(t, member("a", .5, 1, .9), member("b", .5, 1, .9), one("c", .5, "x"))
	p.step(turn.Waits{Job: "c"})
	p.step(turn.Waits{Job: "a"})
	p.after(time.Second).step(turn.Woken{})
	effects := p.step(turn.Waits{Job: "c"})
	require.Equal(t, ids("a"), effects.Grant)
	ends := effects.Wake
	effects = p.after(300 * time.Millisecond).step(turn.Waits{Job: "b"})
	require.Equal(t, ids("b"), effects.Grant)
	require.Equal(t, ends, effects.Wake)
	require.Equal(t, ids("b"), p.after(ends.Sub(start)-p.at).step(turn.Pauses{Job: "a"}).Revoke)
	require.Len(t, p.step(turn.Waits{Job: "b"}).Grant, 1, "and another one begins")
}

func TestScheduler_JobsOfASetThatEndsTakeTurns(t *testing.T) {
	p := begin(t, member("a", .5, 1, .9), member("b", .5, 1, .9))
	p.step(turn.Waits{Job: "a"})
	p.step(turn.Waits{Job: "b"})
	require.Empty(t, p.after(time.Minute).step(turn.Woken{}), "no job waits")
	effects := p.step(turn.Planned{Jobs: []turn.Job{one("a", .5, "x"), one("b", .5, "x")}})
	require.Len(t, effects.Revoke, 1)
	effects = p.step(turn.Waits{Job: effects.Revoke[0]})
	require.Empty(t, effects.Grant, "one of the two continues")
}
