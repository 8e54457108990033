package move_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
)

// Each row is what was observed of two pods that move together, and the states that follow.
func TestTogether(t *testing.T) {
	limits := move.DefaultLimits()
	run := move.Seen{Old: &move.Pod{UID: "old"}, Reserved: true}
	saved := run
	saved.Checkpoint = &move.Checkpoint{Path: "p", SHA256: "s", Step: 40}
	with := func(s move.Seen, change func(*move.Seen)) move.Seen { change(&s); return s }
	later := with(saved, func(s *move.Seen) { s.Checkpoint = &move.Checkpoint{Step: 41} })
	unreserved := with(saved, func(s *move.Seen) { s.Reserved = false })
	refused := with(saved, func(s *move.Seen) { s.Refused = "the disruption budget ns/b permits too few evictions" })
	failed := with(run, func(s *move.Seen) { s.SaveFailed = "disk full" })
	lost := with(saved, func(s *move.Seen) { s.TargetLost = "b is full" })
	broken := with(saved, func(s *move.Seen) { s.Old = &move.Pod{Ended: true, Failed: true} })
	succeeded := with(saved, func(s *move.Seen) { s.Old = &move.Pod{Ended: true} })
	gone := move.Seen{}

	tests := map[string]struct {
		state         move.State
		first, second move.Seen
		after         time.Duration
		want          [2]move.State
		because       string // of the first
	}{
		"both begin":            {state: move.Proposed, first: run, second: run, want: [2]move.State{move.Saving, move.Saving}},
		"one has ended":         {state: move.Proposed, first: run, second: gone, want: [2]move.State{move.Aborted, move.Aborted}, because: "the job ended"},
		"one has saved":         {state: move.Saving, first: saved, second: run, want: [2]move.State{move.Saving, move.Saving}},
		"both have saved":       {state: move.Saving, first: saved, second: saved, want: [2]move.State{move.Saved, move.Saved}},
		"one could not":         {state: move.Saving, first: saved, second: failed, want: [2]move.State{move.Aborted, move.Aborted}, because: "the job did not save: disk full"},
		"one does not answer":   {state: move.Saving, first: saved, second: run, after: limits.Save + 1, want: [2]move.State{move.Aborted, move.Aborted}, because: "the job did not save within 2m0s"},
		"they are two jobs":     {state: move.Saving, first: saved, second: later, want: [2]move.State{move.Aborted, move.Aborted}, because: "its pods have saved different steps, 40 and 41"},
		"one has no room yet":   {state: move.Saving, first: saved, second: unreserved, want: [2]move.State{move.Saving, move.Saving}},
		"one gets no room":      {state: move.Saving, first: saved, second: unreserved, after: limits.Save + 1, want: [2]move.State{move.Aborted, move.Aborted}, because: "no memory was reserved on node b within 2m0s"},
		"one loses its target":  {state: move.Saving, first: saved, second: lost, want: [2]move.State{move.Aborted, move.Aborted}, because: "b is full"},
		"a budget":              {state: move.Saving, first: saved, second: refused, want: [2]move.State{move.Saving, move.Saving}},
		"a budget for long":     {state: move.Saving, first: saved, second: refused, after: limits.Save + 1, want: [2]move.State{move.Aborted, move.Aborted}, because: "the pods cannot be evicted: the disruption budget ns/b permits too few evictions"},
		"one is evicted":        {state: move.Saved, first: gone, second: saved, want: [2]move.State{move.Saved, move.Saved}},
		"a late budget":         {state: move.Saved, first: gone, second: refused, after: time.Hour, want: [2]move.State{move.Saved, move.Saved}},
		"a target is lost late": {state: move.Saved, first: lost, second: saved, want: [2]move.State{move.Saved, move.Saved}},
		"the other one fails":   {state: move.Saved, first: gone, second: broken, want: [2]move.State{move.Evicted, move.Saved}},
		"both are evicted":      {state: move.Saved, first: gone, second: gone, want: [2]move.State{move.Evicted, move.Evicted}},
		"both end by themselves": {
			state: move.Saved, first: succeeded, second: succeeded, want: [2]move.State{move.Saved, move.Saved}, because: "the job ended after it had saved",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			records := gangOf(test.state, "1", "2")
			got := limits.Together(records, move.WithOthers([]move.Seen{test.first, test.second}), now.Add(test.after))
			require.Equal(t, test.want, [2]move.State{got[0].State, got[1].State})
			require.Equal(t, test.because, got[0].Why)
		})
	}
}

// gangOf returns the records of pods that move together.
func gangOf(state move.State, pods ...growth.PodUID) (records []move.Record) {
	gang := &move.Gang{Pods: pods}
	for _, pod := range pods {
		records = append(records, move.Record{ID: "m", Old: pod, From: "a", To: "b", State: state, Since: now, Began: now, Gang: gang})
	}
	return records
}

func TestTogether_NeedsEveryRecord(t *testing.T) {
	records := gangOf(move.Saving, "1", "2")[:1]
	got := move.DefaultLimits().Together(records, []move.Seen{{Old: &move.Pod{UID: "1"}}}, now)
	require.Equal(t, move.Aborted, got[0].State)
	require.Equal(t, "the record of another pod of the job is missing", got[0].Why)
}

// A new pod of a gang waits until all old pods are gone. One that starts again on its node may run there.
func TestRecord_PlaceInAGang(t *testing.T) {
	r := gangOf(move.Evicted, "1", "2")[0]
	require.Equal(t, move.Place{Wait: true}, r.Place(false))
	require.Equal(t, move.Place{Only: "b", Not: "a", Old: "1"}, r.Place(true))
	r.To = "a"
	require.Equal(t, move.Place{Only: "a", Old: "1"}, r.Place(true))
}

func TestHistory_OfAGang(t *testing.T) {
	r := gangOf(move.Done, "1", "2")[0]
	r.Gone = true
	require.Equal(t, "2026-01-01T00:00:00Z\ta\tb\tDone\t0.0\trequested; with all 2 pods of its job", move.History{}.With(r).String())
}
