package mover_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// A user who asks again after a move has ended early is served, whenever the last record of the job is looked at again.
func TestMover_ServesARepeatedRequest(t *testing.T) {
	for name, wait := range map[string]time.Duration{"at once": 0, "when the record is looked at again": 31 * time.Second, "late": 50 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				w.asks("p", "b")
				first := w.saving("p-uid")
				w.answer("p", 0, "the volume is full")
				w.pass(2)
				require.Equal(t, move.Aborted, w.moves()[0].State)
				require.False(t, w.annotated("p", gpushare.MoveAnnotation), "the request is done with")
				require.False(t, w.annotated("p", gpushare.PausedAnnotation), "the job runs on")
				time.Sleep(wait)
				w.asks("p", "b")
				require.Greater(t, w.saving("p-uid"), first, "%s\n%s", w.events(), "it is a move of its own")
			})
		})
	}
}

// A move may end before the job is asked to save. Its request is done with then too.
func TestMover_ServesARequestAfterAMoveThatDidNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.asks("p", "b")
		w.job("big", "b", 12)
		w.Settle()
		w.pass(1)
		require.Equal(t, move.Aborted, w.moves()[0].State, w.events())
		require.False(t, w.annotated("p", gpushare.MoveAnnotation))
		time.Sleep(31 * time.Second)
		w.asks("p", "c")
		w.saving("p-uid")
	})
}

// A request waits while too many other jobs move.
func TestMover_KeepsARepeatedRequestThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.asks("p", "b")
		first := w.saving("p-uid")
		w.answer("p", 0, "the volume is full")
		w.pass(2)
		others := []growth.PodUID{"w", "x", "y", "z"}
		for _, other := range others {
			clustertest.Record(w.Cluster, bus.MoveKey(other), bus.Move{Move: move.Record{
				ID: "move-" + string(other), Old: other, From: "d", To: "e", State: move.Evicted, Since: time.Now(), Began: time.Now(),
				Next: move.Successor{Namespace: "default", Owner: "o"}, Checkpoint: &move.Checkpoint{},
			}})
		}
		w.asks("p", "b")
		time.Sleep(time.Minute)
		w.pass(2)
		require.True(t, w.annotated("p", gpushare.MoveAnnotation))
		for _, other := range others {
			require.NoError(t, w.Bus.Delete(t.Context(), bus.MoveKey(other)))
		}
		w.pass(2)
		require.Greater(t, w.saving("p-uid"), first)
	})
}

// While a job moves, its user may ask for something else. The event says where it goes, and when to ask again.
func TestMover_RefusesAnotherRequestWhileTheJobMoves(t *testing.T) {
	tests := map[string]struct {
		pod, to string
		refused string
	}{
		"another node":       {"p", "c", "p: MoveRefused: The job is not moved to node c now, because it moves from node a to b. Ask again once that move has ended"},
		"the same node":      {"p", "b", ""},
		"any other node":     {"p", gpushare.MoveAnywhere, ""},
		"the node it leaves": {"p", "a", "p: MoveRefused: The job is not moved to node a now, because it moves from node a to b"},
		"a pod that is to start again on its node": {
			"g-1", gpushare.MoveAnywhere, "g-1: MoveRefused: The job is not moved to another node now, because it starts again on node b",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				first := map[string]string{"p": "b", "g-1": "c"}[test.pod]
				w.asks(map[string]string{"p": "p", "g-1": "g-0"}[test.pod], first)
				time.Sleep(2 * time.Second)
				id := w.saving(growth.PodUID(test.pod + "-uid"))
				w.asks(test.pod, test.to)
				w.pass(2)
				require.Equal(t, id, w.saving(growth.PodUID(test.pod+"-uid")), "the move goes on")
				if test.refused == "" {
					require.NotContains(t, w.events(), "MoveRefused")
					return
				}
				require.Contains(t, w.events(), test.refused)
				require.False(t, w.annotated(test.pod, gpushare.MoveAnnotation), "the event is not repeated")
			})
		})
	}
}

// asks sets the request on a pod.
func (w *gangHarness) asks(pod, to string) {
	w.edit(pod, func(p *corev1.Pod) { p.Annotations[gpushare.MoveAnnotation] = to })
	w.Settle()
	w.pass(1)
}

// saving returns the ID of the move of a pod, which is asked to save.
func (w *gangHarness) saving(pod growth.PodUID) string {
	w.pass(2)
	entries, _, err := w.Bus.List(w.T.Context(), bus.MoveKey(pod))
	require.NoError(w.T, err)
	require.Len(w.T, entries, 1, w.events())
	record, err := bus.Decode[bus.Move](entries[0].Value)
	require.NoError(w.T, err)
	require.Equal(w.T, move.Saving, record.Move.State, w.events())
	return record.Move.ID
}
