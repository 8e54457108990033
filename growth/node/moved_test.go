package node_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// moved runs a job on one node until it has converged, and returns its last sample there.
func moved(t *testing.T) bus.Sample {
	from := newHarness(t)
	from.start(policy.Harmless)
	from.arrive("old")
	from.train(0, 20, map[string]func(int) float64{"old": settling})
	s := from.sample("old")
	s.Node = "a"
	s.Checkpoint = &bus.Checkpoint{Path: "/checkpoints/job.pt", SHA256: "0f", Step: 20, At: from.now}
	require.Equal(t, growth.Converged, s.Category)
	return s
}

func settling(i int) float64 { return 1 + 1/float64(1+i*i) }

// origins are the origins on a bus, as coordinators read them.
func origins(t *testing.T, b *membus.Bus) node.OriginsChanged {
	entries, _, err := b.Session().List(t.Context(), bus.Jobs)
	require.NoError(t, err)
	e := node.OriginsChanged{Origins: map[growth.PodUID]bus.Sample{}}
	for _, entry := range entries {
		key, err := bus.ParseKey(entry.Key)
		require.NoError(t, err)
		if key.Kind == bus.KindOrigin {
			e.Origins[key.Pod], err = bus.Decode[bus.Sample](entry.Value)
			require.NoError(t, err)
		}
	}
	return e
}

// A job that has moved is not new to its node.
func TestMovedJob_ContinuesWithWhatItsFormerNodeKnew(t *testing.T) {
	for name, late := range map[string]bool{"the origin is known before the pod": false, "the pod is known before the origin": true} {
		t.Run(name, func(t *testing.T) {
			before := moved(t)
			shared := membus.New()
			value, err := bus.Encode(before)
			require.NoError(t, err)
			_, err = shared.Session().Put(t.Context(), bus.OriginKey(ref("new").UID), value, bus.Persistent)
			require.NoError(t, err)

			to := newHarness(t)
			to.start(policy.Harmless)
			if !late {
				to.step(origins(t, shared))
			}
			to.arrive("new")
			if late {
				to.step(origins(t, shared))
			}
			require.Equal(t, string(growth.Converged), to.annotated["new"][gpushare.CategoryAnnotation])
			s, ok, err := to.node.Sample(ref("new").UID)
			require.NoError(t, err)
			require.True(t, ok)
			require.Zero(t, s.Step, "the mover waits for a step of the new pod itself")
			require.Equal(t, before.Checkpoint, s.Checkpoint)
			require.Equal(t, before.Profile, s.Profile)
			require.Equal(t, before.Value, s.Value)

			to.train(20, 1, map[string]func(int) float64{"new": settling})
			require.Equal(t, growth.Converged, to.sample("new").Category, to.events)
			require.EqualValues(t, 21, to.sample("new").Step)
			require.Equal(t, points(t, before)[:5], points(t, to.sample("new"))[:5], "it has one curve")
			require.Equal(t, 1, to.eventCount("new JobResumed: The job continues from a checkpoint: it has moved here from node a, and loss is 1.002 "+
				"at step 21, where it was about 1.003 before. Its curve up to there and its category stay"), to.events)
			to.remove("new")
			require.Equal(t, 1, to.eventCount("(first 2)"), to.events)
		})
	}
}

// The coordinator of the new node restarts before the job has reported a step there.
func TestMovedJob_SurvivesARestartBeforeItsFirstStep(t *testing.T) {
	before := node.OriginsChanged{Origins: map[growth.PodUID]bus.Sample{ref("new").UID: moved(t)}}
	to := newHarness(t)
	to.start(policy.Harmless)
	to.step(before)
	to.arrive("new")
	to.pass(interval)
	to.start(policy.Harmless)
	to.apply(to.pods[ref("new").UID])
	to.listAllocations()
	to.step(before)
	to.train(20, 2, map[string]func(int) float64{"new": settling})
	require.EqualValues(t, 22, to.sample("new").Step)
	require.Equal(t, growth.Converged, to.sample("new").Category, to.events)
	curve := points(t, to.sample("new"))
	require.LessOrEqual(t, curve[len(curve)-1].Step, 22.0, "its steps are not counted twice")
	require.Equal(t, 1, to.eventCount("new JobResumed: "), to.events)

	to.start(policy.Harmless)
	to.apply(to.pods[ref("new").UID])
	to.listAllocations()
	to.step(before)
	to.train(22, 1, map[string]func(int) float64{"new": settling})
	require.Equal(t, 1, to.eventCount("new JobResumed: "), "it has been here for a while")
}

// points are the points of the curve in a sample.
func points(t *testing.T, s bus.Sample) []remaining.Point {
	var state struct {
		Work struct {
			Curve struct {
				Points []remaining.Point `json:"points"`
			} `json:"curveBySteps"`
		} `json:"work"`
	}
	require.NoError(t, json.Unmarshal(s.State, &state))
	return state.Work.Curve.Points
}

func TestMovedJob_WhatItDoesNotContinue(t *testing.T) {
	tests := map[string]struct {
		change func(*bus.Sample)
		step   int
		value  float64
		event  string
	}{
		"it starts over": {
			step: 1, value: 2,
			event: "new JobRestarted: The job starts over: it has moved here from node a. Its growth is learned again",
		},
		"its state is of a later release": {
			change: func(s *bus.Sample) { s.State = json.RawMessage(`{"v":99}`) },
			step:   21, value: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := moved(t)
			if tc.change != nil {
				tc.change(&before)
			}
			to := newHarness(t)
			to.start(policy.Harmless)
			to.step(node.OriginsChanged{Origins: map[growth.PodUID]bus.Sample{ref("new").UID: before}})
			to.arrive("new")
			to.report("new", int64(tc.step), tc.value)
			to.pass(interval)
			require.EqualValues(t, tc.step, to.sample("new").Step)
			require.Contains(t, fmt.Sprint(to.events), tc.event)
		})
	}
}

// An origin that comes after the job has reported does not change what is known of it, nor does one of another node's pod.
func TestMovedJob_HasBegunBeforeItsOriginIsKnown(t *testing.T) {
	before := moved(t)
	to := newHarness(t)
	to.start(policy.Harmless)
	to.arrive("new")
	to.report("new", 21, 1)
	to.step(node.OriginsChanged{Origins: map[growth.PodUID]bus.Sample{ref("new").UID: before, "elsewhere": before}})
	to.pass(interval)
	require.Equal(t, growth.Progressing, to.sample("new").Category)
	require.Zero(t, to.eventCount("JobResumed"))
}
