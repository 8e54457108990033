package move_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
)

// A record ends in the history of its job, with the time that the move took.
func TestHistory_HasTheTimeOfAMove(t *testing.T) {
	r := move.Record{ID: "m", Old: "old", From: "a", To: "b", State: move.Proposed, Since: now, Began: now}
	old, placed := &move.Pod{UID: "old", Node: "a"}, &move.Pod{UID: "new", Node: "b"}
	at := now
	for _, s := range []struct {
		after time.Duration
		seen  move.Seen
	}{
		{1 * time.Second, move.Seen{Old: old}},
		{2 * time.Second, move.Seen{Old: old, Checkpoint: &move.Checkpoint{Step: 40}}},
		{3 * time.Second, move.Seen{}},
		{4 * time.Second, move.Seen{New: placed}},
		{5 * time.Second, move.Seen{New: placed, Step: 40}},
		{0, move.Seen{New: placed}},
	} {
		at = at.Add(s.after)
		r, _ = move.DefaultLimits().Next(r, s.seen, at)
	}
	require.Equal(t, move.Done, r.State)

	h := move.History{}.With(r)
	require.Equal(t, h, h.With(r), "a move counts once")
	require.Equal(t, 1, h.Count)
	require.True(t, h.Continues("new"))
	require.False(t, h.Continues("old"))
	cost, ok := h.Cost()
	require.True(t, ok)
	require.Equal(t, growth.Seconds(15), cost)
	require.Zero(t, h.Retry())
	require.Equal(t, "2026-01-01T00:00:15Z\ta\tb\tDone\t15.0\trequested", h.String())
	h = h.With(move.Record{ID: "n", From: "b", State: move.Aborted, Since: now, Began: now, Because: "a\tpod\nwaits", Why: "disk full"})
	require.Equal(t, "2026-01-01T00:00:00Z\tb\t-\tAborted\t0.0\ta pod waits; ended early: disk full", h.Past[1].String())
}

func TestHistory_WaitsAfterFailures(t *testing.T) {
	failed := func(n int) (h move.History) {
		for i := range n {
			h = h.With(move.Record{ID: fmt.Sprint(i), State: move.Aborted, Since: now})
		}
		return h
	}
	require.Zero(t, failed(0).Retry())
	require.Equal(t, now.Add(10*time.Minute), failed(1).Retry())
	require.Equal(t, now.Add(40*time.Minute), failed(3).Retry())
	require.LessOrEqual(t, failed(100).Retry(), now.Add(24*time.Hour))
	require.Len(t, failed(100).Past, 8)
	require.Zero(t, failed(100).Count, "no pod was evicted")
	require.Zero(t, failed(3).With(move.Record{ID: "m", State: move.Done, Gone: true, Since: now}).Retry())
}

func TestIdentity_Job(t *testing.T) {
	for want, p := range map[string]move.Identity{
		"uid":     {UID: "uid", Name: "bare"},
		"owner":   {UID: "uid", Owner: "owner"},
		"owner.2": {UID: "uid", Owner: "owner", Index: "2"},
	} {
		require.Equal(t, want, p.Job())
	}
}
