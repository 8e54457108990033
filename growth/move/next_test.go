package move_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/move"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Each row is what was observed in a state, and what follows.
func TestNext(t *testing.T) {
	old, saved := &move.Pod{UID: "old", Node: "a"}, &move.Checkpoint{Path: "p", SHA256: "s", Step: 40}
	ended := &move.Pod{UID: "old", Node: "a", Ended: true}
	placed := &move.Pod{UID: "new", Node: "b"}
	limits := move.DefaultLimits()
	tests := map[string]struct {
		state   move.State
		seen    move.Seen
		after   time.Duration
		why     string // before
		detach  bool
		want    move.State
		because string
	}{
		"it begins":                           {state: move.Proposed, seen: move.Seen{Old: old}, want: move.Saving},
		"it has ended before":                 {state: move.Proposed, seen: move.Seen{}, want: move.Aborted, because: "the job ended"},
		"the target is full before it begins": {state: move.Proposed, seen: move.Seen{Old: old, TargetLost: "b is full"}, want: move.Aborted, because: "b is full"},

		"it saves":                    {state: move.Saving, seen: move.Seen{Old: old}, want: move.Saving},
		"it has saved":                {state: move.Saving, seen: move.Seen{Old: old, Checkpoint: saved}, want: move.Saved},
		"it could not save":           {state: move.Saving, seen: move.Seen{Old: old, SaveFailed: "disk full"}, want: move.Aborted, because: "the job did not save: disk full"},
		"its checkpoint stays behind": {state: move.Saving, seen: move.Seen{Old: old, Checkpoint: saved, CheckpointUnavailable: "it is on no volume"}, want: move.Aborted, because: "it is on no volume"},
		"it does not answer":          {state: move.Saving, seen: move.Seen{Old: old}, after: limits.Save + 1, want: move.Aborted, because: "the job did not save within 2m0s"},
		"it ends meanwhile":           {state: move.Saving, seen: move.Seen{Old: ended, Checkpoint: saved}, want: move.Aborted, because: "the job ended while it saved"},

		"the old pod runs":                                   {state: move.Saved, seen: move.Seen{Old: old}, want: move.Saved},
		"the old pod is gone":                                {state: move.Saved, seen: move.Seen{}, want: move.Evicted},
		"it ends after it has saved":                         {state: move.Saved, seen: move.Seen{Old: ended}, want: move.Saved, because: "the job ended after it had saved"},
		"a budget refuses for long":                          {state: move.Saved, seen: move.Seen{Old: old, Refused: "a budget"}, after: limits.Evict + 1, want: move.Saved, because: "the pod was not evicted: a budget"},
		"the permission is not withdrawn yet":                {state: move.Saved, why: "b is full", seen: move.Seen{Old: old, Permission: move.Granted}, want: move.Saved, because: "b is full"},
		"the permission is withdrawn":                        {state: move.Saved, why: "b is full", seen: move.Seen{Old: old, Permission: move.Withdrawn}, want: move.Aborted, because: "b is full"},
		"the pod has left its owner":                         {state: move.Saved, why: "b is full", detach: true, seen: move.Seen{Old: old, Permission: move.Withdrawn}, want: move.Saved, because: "b is full"},
		"its successor is not gone yet":                      {state: move.Saved, why: "b is full", detach: true, seen: move.Seen{Old: old, Permission: move.Withdrawn, Attached: true, New: placed}, want: move.Saved, because: "b is full"},
		"it belongs to its owner again":                      {state: move.Saved, why: "b is full", detach: true, seen: move.Seen{Old: old, Permission: move.Withdrawn, Attached: true}, want: move.Aborted, because: "b is full"},
		"it has failed, and its successor is its own":        {state: move.Saved, why: "it ended", detach: true, seen: move.Seen{Old: &move.Pod{UID: "old", Ended: true, Failed: true}, Permission: move.Withdrawn, Attached: true, New: placed}, want: move.Aborted, because: "it ended"},
		"its owner was deleted":                              {state: move.Saved, why: "b is full", detach: true, after: 2*limits.Evict + 1, seen: move.Seen{Old: old, Permission: move.Withdrawn}, want: move.Aborted, because: "b is full"},
		"it was evicted before the permission was withdrawn": {state: move.Saved, why: "b is full", seen: move.Seen{}, want: move.Evicted},

		"no successor yet":           {state: move.Evicted, seen: move.Seen{}, want: move.Evicted},
		"a successor without a node": {state: move.Evicted, seen: move.Seen{New: &move.Pod{UID: "new"}}, want: move.Evicted},
		"the successor is placed":    {state: move.Evicted, seen: move.Seen{New: placed}, want: move.Placed},
		"no room for it":             {state: move.Evicted, after: limits.Place + 1, want: move.Aborted, because: "the new pod was not placed within 2m0s and may run on any node"},

		"it has not reported":          {state: move.Placed, seen: move.Seen{New: placed}, want: move.Placed},
		"it reports an earlier step":   {state: move.Placed, seen: move.Seen{New: placed, Step: 39}, want: move.Placed},
		"it continues":                 {state: move.Placed, seen: move.Seen{New: placed, Step: 40}, want: move.Restored},
		"another pod came":             {state: move.Placed, seen: move.Seen{New: &move.Pod{UID: "other", Node: "b"}}, want: move.Aborted, because: "the new pod was deleted"},
		"it starts from the beginning": {state: move.Placed, seen: move.Seen{New: placed, Step: 3}, after: limits.Restore + 1, want: move.Aborted, because: "the new pod reported no step from 40 on within 10m0s"},

		"it ends at once":         {state: move.Placed, seen: move.Seen{New: &move.Pod{UID: "new", Node: "b", Ended: true}}, want: move.Aborted, because: "the new pod ended without a report"},
		"it ends with an error":   {state: move.Placed, seen: move.Seen{New: &move.Pod{UID: "new", Node: "b", Ended: true}, Trouble: "exit code 1", Fails: true}, want: move.Aborted, because: "the new pod ended without a report: exit code 1"},
		"it fails for a moment":   {state: move.Placed, seen: move.Seen{New: placed, Fails: true, Trouble: "exit code 1"}, want: move.Placed},
		"it fails for long":       {state: move.Placed, seen: move.Seen{New: placed, Fails: true, Trouble: "exit code 1"}, after: limits.Fail + 1, want: move.Aborted, because: "the new pod does not run: exit code 1"},
		"its volume is not there": {state: move.Placed, seen: move.Seen{New: placed, Trouble: "ContainerCreating"}, after: limits.Restore + 1, want: move.Aborted, because: "the new pod did not run within 10m0s: ContainerCreating"},

		"restored": {state: move.Restored, want: move.Done},
		"done":     {state: move.Done, want: move.Done},
		"aborted":  {state: move.Aborted, why: "b is full", want: move.Aborted, because: "b is full"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := move.Record{ID: "m", Old: "old", State: test.state, Since: now, Why: test.why, Detach: test.detach, Checkpoint: saved, New: "new"}
			got, changed := limits.Next(r, test.seen, now.Add(test.after))
			require.Equal(t, test.want, got.State)
			require.Equal(t, test.because, got.Why)
			require.Equal(t, got != r, changed)
		})
	}
}

// A job that has started over reaches the saved step too, later.
func TestNext_NotesAJobThatStartsOver(t *testing.T) {
	placed := &move.Pod{UID: "new", Node: "b"}
	for name, test := range map[string]struct {
		steps []int64
		want  int64
	}{
		"it continues":                 {steps: []int64{0, 40}},
		"it has made a step since":     {steps: []int64{0, 41}},
		"it starts over":               {steps: []int64{0, 3, 17, 40}, want: 3},
		"it has an earlier checkpoint": {steps: []int64{30, 40}, want: 30},
	} {
		t.Run(name, func(t *testing.T) {
			r := move.Record{ID: "m", Old: "old", State: move.Placed, Since: now, New: "new", Checkpoint: &move.Checkpoint{Step: 40}}
			for _, step := range test.steps {
				r, _ = move.DefaultLimits().Next(r, move.Seen{New: placed, Step: step}, now)
			}
			require.Equal(t, move.Restored, r.State)
			require.Equal(t, test.want, r.Behind)
		})
	}
}

// A move that is done knows what each of its parts has cost.
func TestRecord_Cost(t *testing.T) {
	old, saved, placed := &move.Pod{UID: "old", Node: "a"}, &move.Checkpoint{Step: 40}, &move.Pod{UID: "new", Node: "b"}
	r := move.Record{ID: "m", Old: "old", State: move.Proposed, Since: now, Began: now}
	for i, seen := range []move.Seen{{Old: old}, {Old: old, Checkpoint: saved}, {}, {New: placed}, {New: placed, Step: 40}, {}} {
		r, _ = move.DefaultLimits().Next(r, seen, now.Add(time.Duration(i*i)*time.Second))
	}
	require.Equal(t, move.Done, r.State)
	require.Equal(t, move.Cost{Save: time.Second, Evict: 3 * time.Second, Place: 5 * time.Second, Restore: 7 * time.Second}, r.Cost())
}

func TestWants(t *testing.T) {
	bare := func(s move.State, gone bool) move.Record { return move.Record{State: s, Bare: true, Gone: gone} }
	require.Equal(t, move.Wants{}, bare(move.Proposed, false).Wants())
	require.Equal(t, move.Wants{Hold: true, Target: true}, bare(move.Saving, false).Wants())
	require.Equal(t, move.Wants{Hold: true, Target: true, Grant: true, Evict: true, Copy: true}, bare(move.Saved, false).Wants())
	require.Equal(t, move.Wants{Target: true, Copy: true, Open: true}, bare(move.Evicted, true).Wants())
	require.Equal(t, move.Wants{Copy: true, Open: true}, bare(move.Done, true).Wants())
	require.Equal(t, move.Wants{Drop: true}, bare(move.Aborted, false).Wants(), "the old pod is the job")
	require.Equal(t, move.Wants{Copy: true, Open: true}, bare(move.Aborted, true).Wants(), "the copy is the job")
	require.Equal(t, move.Wants{}, move.Record{State: move.Aborted}.Wants())
	owned := move.Record{State: move.Saved, Detach: true}
	require.Equal(t, move.Wants{Hold: true, Target: true, Grant: true, Detach: true, Evict: true}, owned.Wants())
	owned.Why = "b is full"
	require.Equal(t, move.Wants{Hold: true, Withdraw: true, Attach: true}, owned.Wants())
	withdrawing := bare(move.Saved, false)
	withdrawing.Why = "b is full"
	require.Equal(t, move.Wants{Hold: true, Withdraw: true, Copy: true}, withdrawing.Wants())
}

func TestRecord_IsStoredAsJSON(t *testing.T) {
	r := move.Record{ID: "m", Old: "u", From: "a", To: "b", State: move.Saved, Since: now, Began: now, Checkpoint: &move.Checkpoint{Path: "p", SHA256: "s", Step: 3}}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back move.Record
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r, back)
}

func TestRecord_Continues(t *testing.T) {
	owned := move.Record{Old: "old", Next: move.Successor{Namespace: "ns", Owner: "job-uid", Index: "3"}}
	bare := move.Record{Old: "old", Next: move.Successor{Namespace: "ns", Name: "copy"}}
	tests := map[string]struct {
		record move.Record
		pod    move.Identity
		want   bool
	}{
		"the next pod of the owner":  {owned, move.Identity{UID: "new", Namespace: "ns", Owner: "job-uid", Index: "3"}, true},
		"the old pod":                {owned, move.Identity{UID: "old", Namespace: "ns", Owner: "job-uid", Index: "3"}, false},
		"another rank":               {owned, move.Identity{UID: "new", Namespace: "ns", Owner: "job-uid", Index: "2"}, false},
		"another owner":              {owned, move.Identity{UID: "new", Namespace: "ns", Owner: "other", Index: "3"}, false},
		"no owner":                   {owned, move.Identity{UID: "new", Namespace: "ns"}, false},
		"the copy":                   {bare, move.Identity{UID: "new", Namespace: "ns", Name: "copy"}, true},
		"its name in another space":  {bare, move.Identity{UID: "new", Namespace: "other", Name: "copy"}, false},
		"a bare pod of another name": {bare, move.Identity{UID: "new", Namespace: "ns", Name: "x"}, false},
	}
	for name, test := range tests {
		require.Equal(t, test.want, test.record.Continues(test.pod), name)
	}
	owned.New = "new"
	require.False(t, owned.Continues(move.Identity{UID: "third", Namespace: "ns", Owner: "job-uid", Index: "3"}), "there is one successor")
}

// A controller may create the next pod while the old one still runs. It waits.
func TestRecord_Place(t *testing.T) {
	at := func(s move.State) move.Record { return move.Record{State: s, From: "a", To: "b"} }
	require.Equal(t, move.Place{Wait: true}, at(move.Saved).Place(false))
	require.Equal(t, move.Place{Only: "b", Not: "a"}, at(move.Saved).Place(true))
	require.Equal(t, move.Place{Only: "b", Not: "a"}, at(move.Evicted).Place(true))
	require.Equal(t, move.Place{Wait: true}, at(move.Saving).Place(false))
	require.Equal(t, move.Place{Wait: true}, at(move.Saving).Place(true), "the record is older than the eviction")
	require.Equal(t, move.Place{}, at(move.Aborted).Place(true), "it may run anywhere")
}
