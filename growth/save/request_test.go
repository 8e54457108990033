package save_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

var deadline = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func process(n int) halt.Process { return halt.Process{Slot: "slot", Connection: int64(n) + 1} }

// connected returns the first n processes.
func connected(n int) []halt.Process {
	var processes []halt.Process
	for i := range n {
		processes = append(processes, process(i))
	}
	return processes
}

func savedBy(rank int, path string) wire.Saved {
	return wire.Saved{Path: path, Step: 9, Request: 7, Process: wire.Process{Rank: &rank}}
}

func TestRequest_Outcome(t *testing.T) {
	const slow = "it did not answer in time: its step or its save function takes longer than it had"
	for name, tc := range map[string]struct {
		answers   func(r *save.Request)
		processes int
		late      bool
		done      bool
		path      string
		reason    string
		able      bool
	}{
		"no answer yet":          {answers: func(*save.Request) {}, processes: 1},
		"no answer in time":      {answers: func(*save.Request) {}, processes: 1, late: true, done: true, reason: slow},
		"the processes are gone": {answers: func(*save.Request) {}, done: true, reason: "its processes ended before they had saved"},
		"one process": {
			answers:   func(r *save.Request) { r.Saved(process(0), savedBy(0, "/a")) },
			processes: 1, done: true, path: "/a", able: true,
		},
		"an answer to another request": {
			answers:   func(r *save.Request) { r.Saved(process(0), wire.Saved{Path: "/a", Request: 6}) },
			processes: 1,
		},
		"a shim of the previous release": {
			answers:   func(r *save.Request) { r.Saved(process(0), wire.Saved{Path: "/a", Step: 9}) },
			processes: 2, done: true, path: "/a", able: true,
		},
		"the first rank saves, the second has nothing to save": {
			answers: func(r *save.Request) {
				r.Failed(process(1), wire.Failed{Request: 7, Nothing: true})
				r.Saved(process(0), savedBy(0, "/a"))
			},
			processes: 2, done: true, path: "/a", able: true,
		},
		"each rank saves a part": {
			answers: func(r *save.Request) {
				r.Saved(process(1), savedBy(1, "/b"))
				r.Saved(process(0), savedBy(0, "/a"))
			},
			processes: 2, done: true, path: "/a", able: true,
		},
		"one rank is missing": {
			answers:   func(r *save.Request) { r.Saved(process(0), savedBy(0, "/a")) },
			processes: 2,
		},
		"one rank is missing at the deadline": {
			answers:   func(r *save.Request) { r.Saved(process(0), savedBy(0, "/a")) },
			processes: 2, late: true, done: true, reason: slow, able: true,
		},
		"one rank has failed": {
			answers: func(r *save.Request) {
				r.Saved(process(0), savedBy(0, "/a"))
				r.Failed(process(1), wire.Failed{Request: 7, Reason: "the volume is full"})
			},
			processes: 2, done: true, reason: "the volume is full", able: true,
		},
		"nobody saves": {
			answers:   func(r *save.Request) { r.Failed(process(0), wire.Failed{Request: 7, Nothing: true}) },
			processes: 1, done: true, reason: "none of its processes has anything to save",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := save.Request{Number: 7, Deadline: deadline, Step: 9}
			tc.answers(&r)
			now := deadline.Add(-time.Second)
			if tc.late {
				now = deadline
			}
			o, done := r.Outcome(now, connected(tc.processes))
			require.Equal(t, tc.done, done)
			require.Equal(t, tc.reason, o.Reason)
			require.Equal(t, tc.able, o.Able)
			if tc.path == "" {
				require.Nil(t, o.Saved)
				return
			}
			require.NotNil(t, o.Saved)
			require.Equal(t, tc.path, o.Saved.Path)
		})
	}
}

// What a job has saved by itself before the request may be reported after it, because a large file is hashed for long.
func TestRequest_ACheckpointFromBeforeItIsNoAnswer(t *testing.T) {
	r := save.Request{Number: 7, Deadline: deadline, Step: 9}
	now := deadline.Add(-time.Second)
	r.Saved(process(0), wire.Saved{Path: "/old", Step: 8})
	_, done := r.Outcome(now, connected(1))
	require.False(t, done)
	r.Saved(process(0), savedBy(0, "/a"))
	o, done := r.Outcome(now, connected(1))
	require.True(t, done)
	require.Equal(t, "/a", o.Saved.Path)
}
