package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/resize"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// A new release must be able to decode the states of an earlier one. A change that breaks these tests needs a new
// stateVersion and a reader of the old one.
func TestState_IsEncodedAsBefore(t *testing.T) {
	for name, into := range map[string]any{"job-state": &jobState{}, "node-state": &nodeState{}} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			require.NoError(t, err)
			require.NoError(t, decodeState(content, into))
			encoded, err := json.Marshal(into)
			require.NoError(t, err)
			require.JSONEq(t, string(content), string(encoded))
		})
	}
}

// TestState_IsEncodedAsBefore protects only the fields that are in its files.
func TestState_FilesHaveEveryField(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := 9.0
	curve := remaining.Curve{First: &first, Points: []remaining.Point{{Step: 1, Value: 2, Reports: 3}}}
	fair := fairfinish.State{At: at, Served: 0.5, Accounts: map[growth.PodUID]fairfinish.Account{}}
	account := fill(t, fairfinish.Account{})
	fair.Accounts["a"] = account
	history := fill(t, efficiency.State{})
	tried := fill(t, trial.State{})
	states := map[string]any{
		"job-state": jobState{
			Version: stateVersion,
			History: &history,
			Work: &workState{
				Start:      1,
				StepCost:   2,
				StepSpread: 3,
				Curve:      &curve,
				Fair:       &fair,
				GPU:        &gpuWork{Start: 1, StepCost: 2, StepSpread: 3, Exact: true, Fair: &fair},
			},
			Trial: &tried,
		},
		"node-state": nodeState{
			Version:  stateVersion,
			Fair:     fair,
			GPUFair:  &fair,
			Computes: true,
			MPS:      true,
			Refusals: map[growth.PodUID]resize.Refusal{"a": fill(t, resize.Refusal{})},
			Yields: map[growth.PodUID]yielded{
				"a": {Writer: "x", Request: 7, At: at, Created: Requests{"train": 7}},
			},
			Speeds: &corun.Table{Entries: []corun.Entry{
				{Own: "a", Others: []corun.Kind{"b"}, Speed: corun.Speed{Mean: .5, Deviation: .25, Seconds: 7}},
			}},
			Ended: []Run{{Job: "ns/a", Program: "train", Curve: curve, Whole: fill(t, remaining.Profile{}),
				ID: programs.IDOf("ns", "train"), Pod: "a", Ended: at}},
		},
	}
	for name, state := range states {
		want, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		require.NoError(t, err)
		got, err := json.Marshal(state)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), "%s.json should be %s", name, got)
	}
}

// fill returns a value whose fields are all set.
func fill[T any](t *testing.T, value T) T {
	t.Helper()
	setAll(t, &value)
	return value
}

func TestState_DecodesThePreviousRelease(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "sample-previous.json"))
	require.NoError(t, err)
	s, err := bus.Decode[bus.Sample](content)
	require.NoError(t, err)
	require.Nil(t, s.State)
	state, err := stateOf(s)
	require.NoError(t, err)
	require.Equal(t, 13, state.History.Samples)
	require.Len(t, state.Work.Curve.Points, 13)
	require.Contains(t, state.Work.Fair.Accounts, s.Pod.UID)
	require.Equal(t, 128, state.Trial.RejectedFrom)

	n := New(Config{Policy: policy.Harmless, Interval: 10 * time.Second, Alpha: .05, Beta: 2})
	n.Step(time.Unix(1, 0), SamplesRestored{Samples: []bus.Sample{s}})
	n.Step(time.Unix(1, 0), PodUpdated{Pod: Pod{
		Ref:         s.Pod,
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1", gpushare.TuneAnnotation: "cpu,batch-size"},
		Containers:  []Container{{Name: "train", Request: 500}},
	}})
	now, ok, err := n.Sample(s.Pod.UID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, s.Category, now.Category)
	next, err := stateOf(now)
	require.NoError(t, err)
	next.Version = 0
	require.Equal(t, state, next, "the next sample has the same state")
}

func TestState_RejectsUnknownVersions(t *testing.T) {
	_, err := stateOf(bus.Sample{State: json.RawMessage(`{"v":2}`)})
	require.ErrorIs(t, err, errStateVersion)
	n := New(Config{Policy: policy.Harmless, Interval: 10 * time.Second, Alpha: .05, Beta: 2})
	effects := n.Step(time.Unix(1, 0), MemoryRestored{Memory: Memory{State: json.RawMessage(`{"v":2}`)}})
	require.Len(t, effects.Log, 1)
}
