package turn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// worker is a job in virtual time: it loads for a while, computes a step, and obeys the scheduler between two steps. Next to
// others of its set it computes at its speed.
type worker struct {
	turn.Job
	load, compute time.Duration
	deaf          bool // never stops

	state   string        // loading, ready, computing, stopped
	until   time.Duration // end of loading
	left    float64       // of the step, in seconds of computing alone
	done    float64       // likewise, since the start
	revoked bool
	steps   int
	waited  time.Duration // the longest wait
	since   time.Duration
}

// machine runs workers in virtual time, and checks after each event that the scheduler keeps its promises.
type machine struct {
	t       *testing.T
	s       *turn.Scheduler
	now     time.Duration
	wake    time.Duration
	workers []*worker
}

func run(t *testing.T, until time.Duration, workers ...*worker) *machine {
	m := &machine{t: t, s: turn.New(turn.Default), workers: workers}
	var jobs []turn.Job
	for _, w := range workers {
		jobs = append(jobs, w.Job)
	}
	m.step(turn.Planned{Jobs: jobs})
	for _, w := range workers {
		m.load(w)
	}
	for m.now < until {
		m.next()
	}
	return m
}

func (m *machine) step(e turn.Event) {
	effects := m.s.Step(start.Add(m.now), e)
	m.wake = 1 << 62
	if !effects.Wake.IsZero() {
		m.wake = effects.Wake.Sub(start)
		require.Greater(m.t, m.wake, m.now, "never in the past")
	}
	for _, w := range m.workers {
		for _, id := range effects.Revoke {
			w.revoked = w.revoked || w.ID == id
		}
		for _, id := range effects.Grant {
			if w.ID == id {
				require.Equal(m.t, "ready", w.state, "only a ready job gets the turn")
				w.waited = max(w.waited, m.now-w.since)
				w.state, w.left = "computing", w.compute.Seconds()
			}
		}
	}
	m.check()
}

// check requires that jobs that obey do not use a GPU at the same time, unless they are one set.
func (m *machine) check() {
	holders := map[growth.GPU]*worker{}
	for _, w := range m.workers {
		if w.state != "computing" || w.deaf {
			continue
		}
		for _, gpu := range w.GPUs {
			if other := holders[gpu]; other != nil && (w.Set == 0 || w.Set != other.Set) {
				require.Fail(m.t, "two jobs compute", "%s on %s next to %s", w.ID, gpu, other.ID)
			}
			holders[gpu] = w
		}
	}
}

// rate returns the work of a worker that computes, per second.
func (m *machine) rate(w *worker) float64 {
	if w.Set == 0 {
		return 1
	}
	mates, computing := 0, 0
	for _, other := range m.workers {
		if other != w && other.Set == w.Set {
			mates++
			if other.state == "computing" {
				computing++
			}
		}
	}
	return 1 / (1 + (1/w.Speed-1)*float64(computing)/float64(max(1, mates)))
}

// end returns when a worker ends what it does.
func (m *machine) end(w *worker) time.Duration {
	if w.state == "loading" {
		return w.until
	}
	return m.now + time.Duration(w.left/m.rate(w)*float64(time.Second)) + 1
}

// advance lets all workers compute until a time.
func (m *machine) advance(until time.Duration) {
	work := make([]float64, len(m.workers))
	for i, w := range m.workers {
		if w.state == "computing" {
			work[i] = m.rate(w) * (until - m.now).Seconds()
		}
	}
	for i, w := range m.workers {
		w.left -= work[i]
		w.done += work[i]
	}
	m.now = until
}

func (m *machine) load(w *worker) {
	w.revoked = false
	if w.load == 0 {
		m.ready(w)
		return
	}
	w.state, w.until = "loading", m.now+w.load
	m.step(turn.Pauses{Job: w.ID})
}

func (m *machine) ready(w *worker) {
	w.state, w.since, w.revoked = "ready", m.now, false
	m.step(turn.Waits{Job: w.ID})
}

// next advances to the next event.
func (m *machine) next() {
	at := m.wake
	var first *worker
	for _, w := range m.workers {
		if (w.state == "loading" || w.state == "computing") && m.end(w) < at {
			at, first = m.end(w), w
		}
	}
	m.advance(at)
	switch {
	case first == nil:
		m.step(turn.Woken{})
	case first.state == "loading":
		m.ready(first)
	default:
		first.steps++
		switch {
		case first.load > 0:
			m.load(first)
		case first.revoked && !first.deaf:
			m.ready(first)
		default:
			first.left += first.compute.Seconds()
		}
	}
}

func (m *machine) held(id string) float64 {
	return m.s.Use(start.Add(m.now))[growth.PodUID(id)].Held.Seconds()
}

// The error is at most 2 % of the time, as GPU-sharing by weights is specified.
func TestScheduler_HeldTimesFollowTheShares(t *testing.T) {
	const minute = time.Minute
	for _, shares := range [][]float64{{1, 1}, {3, 1}, {9, 1}, {.5, .3, .2}, {20, 1, 1, 1}} {
		for _, compute := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 70 * time.Millisecond, 400 * time.Millisecond} {
			t.Run(fmt.Sprint(shares, " steps of ", compute), func(t *testing.T) {
				var workers []*worker
				total := 0.0
				for i, share := range shares {
					workers = append(workers, &worker{Job: one(fmt.Sprint(i), share), compute: compute})
					total += share
				}
				m := run(t, minute, workers...)
				all := 0.0
				for i, share := range shares {
					held := m.held(fmt.Sprint(i))
					require.InDelta(t, share/total, held/minute.Seconds(), .02, "job %d", i)
					all += held
				}
				require.InDelta(t, minute.Seconds(), all, .5, "the GPU is never free")
			})
		}
	}
}

// The jobs of a set make more work together. It is divided by the shares all the same, and a job that is served first loses no
// more than its speed.
func TestScheduler_WorkOfSetsFollowsTheShares(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		jobs []turn.Job
		want []float64 // work per second
	}{
		"a pair, and one alone":           {[]turn.Job{member("0", .25, 1, .9), member("1", .25, 1, .9), one("2", .5, "x")}, []float64{.321, .321, .643}},
		"two pairs":                       {[]turn.Job{member("0", .25, 1, .9), member("1", .25, 1, .9), member("2", .25, 2, .6), member("3", .25, 2, .6)}, []float64{.36, .36, .36, .36}},
		"one of the pair has no share":    {[]turn.Job{member("0", .5, 1, .96), member("1", 0, 1, .7), one("2", .5, "x")}, []float64{.49, .357, .49}},
		"three at the same time":          {[]turn.Job{member("0", .4, 1, .8), member("1", .3, 1, .8), member("2", .3, 1, .8)}, []float64{.8, .8, .8}},
		"a pair whose speeds differ, 1:3": {[]turn.Job{member("0", .25, 1, .5), member("1", 0, 1, .9), one("2", .75, "x")}, []float64{.2, .36, .6}},
	} {
		t.Run(name, func(t *testing.T) {
			var workers []*worker
			for _, j := range tc.jobs {
				workers = append(workers, &worker{Job: j, compute: 5 * ms})
			}
			m := run(t, time.Minute, workers...)
			for i, w := range m.workers {
				require.InDelta(t, tc.want[i], w.done/time.Minute.Seconds(), .02, "job %d", i)
			}
		})
	}
}

// A job that loads data between its steps makes at least as many steps as under processor sharing, less one per cent.
func TestScheduler_JobsThatWaitForData(t *testing.T) {
	const ms = time.Millisecond
	full := &worker{Job: one("full", .5), compute: 5 * ms}
	data := &worker{Job: one("data", .5), load: 20 * ms, compute: 5 * ms}
	m := run(t, time.Minute, full, data)
	shared := time.Minute.Seconds() / (20*ms + 2*5*ms).Seconds() // each of its steps takes twice as long
	require.Greater(t, float64(data.steps), .99*shared)
	require.Greater(t, m.held("full")+m.held("data"), 59.5, "and the GPU is never free")
	require.Less(t, data.waited, 6*ms)
}

// A job of a large share that waits a little for data after each step gets its share of the time, the waits in which its GPU is
// kept for it included. The others lose nothing by these. Jobs of equal shares leave their waits to one another.
func TestScheduler_GPUIsKeptForAJobThatIsBehind(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	for name, tc := range map[string]struct {
		first, second float64
		load, compute time.Duration
		held, free    float64 // of the GPU's time
	}{
		"equal shares":                       {1, 1, 1500 * us, 10 * ms, .50, 0},
		"three to one":                       {3, 1, 1500 * us, 10 * ms, .66, .06},
		"nine to one":                        {9, 1, 1500 * us, 10 * ms, .79, .11},
		"waits as long as a step are shared": {9, 1, 10 * ms, 10 * ms, .50, 0},
	} {
		t.Run(name, func(t *testing.T) {
			waits := &worker{Job: one("waits", tc.first), load: tc.load, compute: tc.compute}
			ready := &worker{Job: one("ready", tc.second), compute: 10 * ms}
			m := run(t, time.Minute, waits, ready)
			require.InDelta(t, tc.held, m.held("waits")/60, .02)
			require.InDelta(t, tc.free, 1-(m.held("waits")+m.held("ready"))/60, .02)
			kept := m.s.Use(start.Add(m.now))["waits"].Kept.Seconds()
			require.InDelta(t, tc.free, kept/60, .02, "the GPU is free only where it is kept")
			if tc.load < tc.compute {
				share := tc.first / (tc.first + tc.second)
				require.InDelta(t, share, (m.held("waits")+kept)/(m.held("waits")+kept+m.held("ready")), .02)
			}
		})
	}
}

// Jobs on several GPUs, sets, and jobs that do not stop: each of them is served, and no turn is given twice.
func TestScheduler_AnyMixOfJobsIsServed(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		gpus := []growth.GPU{"x", "y", "z"}
		var workers []*worker
		for i := range 2 + rng.IntN(6) {
			first := rng.IntN(len(gpus))
			w := &worker{
				Job:     one(fmt.Sprint(i), .02+rng.Float64(), gpus[first:min(len(gpus), first+1+rng.IntN(2))]...),
				compute: time.Duration(1+rng.IntN(300)) * time.Millisecond,
			}
			if rng.IntN(3) == 0 {
				w.load = time.Duration(1+rng.IntN(300)) * time.Millisecond
			}
			if len(w.GPUs) == 1 && rng.IntN(2) == 0 {
				w.Set, w.Speed = 1+rng.IntN(2), .5+.5*rng.Float64()
			}
			workers = append(workers, w)
		}
		workers[0].deaf = workers[0].load == 0 && rng.IntN(4) == 0
		run(t, 2*time.Minute, workers...)
		for _, w := range workers {
			require.Positive(t, w.steps, "seed %d: job %s of %v", seed, w.ID, w.Share)
			// Virtual times are at most Debt apart; each job may hold Least, or a step, at a time.
			bound := turn.Default.Debt + time.Duration(len(workers))*(turn.Default.Period+turn.Default.Timeout)
			require.Less(t, w.waited, bound, "seed %d: job %s", seed, w.ID)
		}
	}
}
