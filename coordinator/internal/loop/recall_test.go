package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// learned is the model of a program whose jobs take 4 + 90·1 core-seconds.
func learned(namespace string, readers ...string) bus.ProgramModel {
	run := programs.Run{
		Pod:    "there",
		Job:    namespace + "/there",
		Node:   "other",
		Whole:  remaining.Profile{Numbers: []string{"90"}, Total: 90, StartupCost: 4, StepCost: 1},
		Points: []programs.Point{{1, 2, 1}, {90, 1, 1}},
	}
	return bus.ProgramModel{Model: programs.Model{Runs: []programs.Run{run}, Readers: readers}}
}

// The node has never seen the program of a job that has made no step. What other nodes know predicts it.
func TestRecall_PredictsFromTheModelOfTheProgram(t *testing.T) {
	spec, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1"})
	require.NoError(t, err)
	own := programs.IDOf("ns", spec.Similar("train"))
	shared := own.In(programs.Shared)
	broken := learned("ns")
	broken.Runs[0].Points = nil
	for name, tc := range map[string]struct {
		before, after map[programs.ID][]byte // the arrival of the job
		from          string
	}{
		"no model":                     {nil, nil, ""},
		"a model":                      {map[programs.ID][]byte{own: encode(t, learned("ns"))}, nil, "the cluster, 1 run on 1 node"},
		"a model that appears later":   {nil, map[programs.ID][]byte{own: encode(t, learned("ns"))}, "the cluster, 1 run on 1 node"},
		"of another program":           {map[programs.ID][]byte{programs.IDOf("ns", "test"): encode(t, learned("ns"))}, nil, ""},
		"of another namespace":         {map[programs.ID][]byte{own.In("theirs"): encode(t, learned("theirs"))}, nil, ""},
		"shared with the job's":        {map[programs.ID][]byte{shared: encode(t, learned("theirs", "theirs", "ns"))}, nil, "the cluster, 1 run on 1 node"},
		"shared with all":              {map[programs.ID][]byte{shared: encode(t, learned("theirs", "*"))}, nil, "the cluster, 1 run on 1 node"},
		"shared among others":          {map[programs.ID][]byte{shared: encode(t, learned("theirs", "theirs"))}, nil, ""},
		"an invalid run":               {map[programs.ID][]byte{own: encode(t, broken)}, nil, ""},
		"of another version":           {map[programs.ID][]byte{own: []byte(`{"v":99}`)}, nil, ""},
		"not JSON":                     {map[programs.ID][]byte{own: []byte("?")}, nil, ""},
		"a model that becomes invalid": {map[programs.ID][]byte{own: encode(t, learned("ns"))}, map[programs.ID][]byte{own: []byte("?")}, ""},
		"one that is shared no longer": {map[programs.ID][]byte{shared: encode(t, learned("theirs", "*"))}, map[programs.ID][]byte{shared: encode(t, learned("theirs"))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				for id, value := range tc.before {
					h.put(bus.ProgramKey(id), value)
				}
				h.start(policy.Harmless)
				h.apply(node.Pod{
					Ref:         ref("here"),
					Running:     true,
					Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
					Containers:  []node.Container{{Name: "train", Request: 500}},
					Program:     "train in ns",
					Anywhere:    "train",
					Numbers:     []string{"90"},
				})
				h.allocate("here")
				h.advance(2 * interval)
				for id, value := range tc.after {
					h.put(bus.ProgramKey(id), value)
				}
				h.advance(2 * interval)
				e, err := h.loop.Explain(t.Context(), "ns/here")
				require.NoError(t, err)
				inputs := e.Decisions[len(e.Decisions)-1].Inputs
				require.Equal(t, tc.from, inputs.SimilarFrom)
				require.Equal(t, tc.from != "", inputs.Remaining.Known)
			})
		})
	}
}

// A coordinator without the bus decides as before, and uses the model once it is connected.
func TestRecall_WorksWithoutTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.start(policy.Harmless)
		h.arrive("here")
		h.bus.Fail(bus.ErrUnavailable)
		h.advance(3 * interval)
		h.bus.Fail(nil)
		h.advance(interval)
		h.remove("here")
		h.advance(interval)
		require.Equal(t, []growth.PodUID{ref("here").UID}, h.forgotten)
	})
}

func TestRuns_OfEndedJobsArePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.start(policy.Fair)
		h.apply(node.Pod{
			Ref:         ref("first"),
			Running:     true,
			Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
			Containers:  []node.Container{{Name: "train", Request: 500}},
			Program:     "train in ns",
			Anywhere:    "train",
		})
		h.allocate("first")
		h.advance(time.Second)
		h.train(1, 3, map[string]func(int) float64{"first": func(step int) float64 { return 1 / float64(step) }})
		h.remove("first")
		h.advance(time.Second)
		h.mu.Lock()
		defer h.mu.Unlock()
		require.Len(t, h.learned, 1)
		require.Equal(t, "ns", h.learned[0].Program.Namespace)
		require.NoError(t, h.learned[0].Runs[0].Validate())
	})
}
