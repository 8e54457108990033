package move_test

import (
	"fmt"
	"strings"
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
	require.Equal(t, growth.Seconds(7), h.Past[0].Replaced, "3 s until the old pod is gone, and 4 s until the new one has a node")
	require.Equal(t, growth.Seconds(3), h.Past[0].Save)
	require.Equal(t, growth.Seconds(5), h.Past[0].Restore)
	require.Zero(t, h.Retry())
	require.Equal(t, "2026-01-01T00:00:15Z\ta\tb\tDone\t15.0 (save 3.0, replace 7.0, start 0.0, restore 5.0)\trequested", h.String())
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

// The time of a move has parts, and the next move of the job is expected to take as long as them. An image is pulled only to a node
// that does not have it.
func TestHistory_HasThePartsOfAMove(t *testing.T) {
	done := func(id string, noImage bool, start, restore int) move.Record {
		at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
		r := move.Record{ID: id, From: "a", On: "b", State: move.Done, Gone: true, Began: now, Since: at(10 + start + restore), NoImage: noImage}
		r.Times = move.Times{Saved: at(3), Evicted: at(6), Placed: at(10), Started: at(10 + start), Restored: r.Since}
		return r
	}
	earlier := done("m", false, 0, 8)
	earlier.Times.Started = time.Time{}
	for name, tc := range map[string]struct {
		moves      []move.Record
		last       string
		cost, pull growth.Seconds
	}{
		"the node has the image":                   {[]move.Record{done("m", false, 2, 5)}, "17.0 (save 3.0, replace 7.0, start 2.0, restore 5.0)", 17, 0},
		"the node pulls the image":                 {[]move.Record{done("m", true, 42, 5)}, "57.0 (save 3.0, replace 7.0, start 42.0 with its image, restore 5.0)", 15, 42},
		"both":                                     {[]move.Record{done("m", true, 42, 5), done("n", false, 2, 5)}, "17.0 (save 3.0, replace 7.0, start 2.0, restore 5.0)", 16, 42},
		"an earlier release has begun the move":    {[]move.Record{earlier}, "18.0 (save 3.0, replace 7.0, start 0.0, restore 8.0)", 18, 0},
		"no part is known of one that ended early": {[]move.Record{{ID: "m", State: move.Aborted, Began: now, Since: now.Add(time.Second)}}, "1.0", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var h move.History
			for _, r := range tc.moves {
				h = h.With(r)
			}
			cost, _ := h.Cost()
			pull, _ := h.Pull()
			require.Equal(t, tc.cost, cost)
			require.Equal(t, tc.pull, pull)
			require.Equal(t, tc.last, strings.Split(h.Past[len(h.Past)-1].String(), "\t")[4])
		})
	}
}

// The containers of the new pod start after its node is known, and before its first step.
func TestNext_NotesWhenTheContainersStart(t *testing.T) {
	r := move.Record{ID: "m", Old: "old", From: "a", State: move.Evicted, Since: now, Began: now, Checkpoint: &move.Checkpoint{Step: 40}}
	r.Times = move.Times{Saved: now, Evicted: now}
	placed := &move.Pod{UID: "new", Node: "b"}
	at := now
	for _, s := range []move.Seen{
		{New: placed, NoImage: true},
		{New: placed},
		{New: placed, Started: true},
		{New: placed, Started: true},
		{New: placed, Started: true, Step: 40},
		{New: placed, Started: true, Step: 40},
	} {
		at = at.Add(time.Second)
		r, _ = move.DefaultLimits().Next(r, s, at)
	}
	require.Equal(t, move.Done, r.State)
	require.True(t, r.NoImage)
	require.Equal(t, 2*time.Second, r.Cost().Start)
	require.Equal(t, 2*time.Second, r.Cost().Restore)
}
