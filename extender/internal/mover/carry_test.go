package mover_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// The coordinator of the new node learns what the old one has published last, although that was deleted with the old pod.
func TestMover_CarriesTheSampleOfAJob(t *testing.T) {
	tests := map[string]struct {
		published, delayed bool
		state              move.State
	}{
		"the job is placed":                     {published: true, state: move.Placed},
		"the job is placed too late for a move": {published: true, delayed: true, state: move.Aborted},
		"its old node has published nothing":    {state: move.Placed},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				w.Client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
					if copied, ok := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod); ok && action.GetSubresource() == "" {
						copied.UID = "copy-uid"
					}
					return false, nil, nil
				})
				w.samples[0].State = json.RawMessage(`{"v":1}`)
				if tc.published {
					w.publish()
				}
				old := w.pods[0].UID
				w.edit("p", func(p *corev1.Pod) { p.Annotations[gpushare.MoveAnnotation] = "b" })
				w.Settle()
				w.pass(3)
				w.answer("p", 40, "")
				w.pass(2)
				require.NoError(t, w.Bus.Delete(t.Context(), bus.SampleKey(growth.PodUID(old))))
				require.NoError(t, w.Bus.Delete(t.Context(), bus.AllocationKey("a", growth.PodUID(old))))
				w.Settle()
				w.pass(3)
				require.Equal(t, []move.State{move.Evicted}, w.states(), w.events())

				next := w.Get(clustertest.Pod(w.moves()[0].Next.Name, ""))
				if tc.delayed {
					time.Sleep(3 * time.Minute)
				} else {
					require.NoError(t, w.scheduler.Bind(t.Context(), clustertest.Ref(next), "b"))
				}
				w.pass(1)
				require.Equal(t, []move.State{tc.state}, w.states(), w.events())
				origin, found := w.origin(growth.PodUID(next.UID))
				require.Equal(t, tc.published, found)
				if found {
					require.Equal(t, growth.NodeName("a"), origin.Node)
					require.JSONEq(t, `{"v":1}`, string(origin.State))
					require.EqualValues(t, 40, origin.Checkpoint.Step, "what it has saved for the move")
				}
				entries, _, err := w.Bus.List(t.Context(), bus.Moves)
				require.NoError(t, err)
				require.NotContains(t, string(entries[0].Value), `"sample"`, "it is no longer needed")
			})
		})
	}
}

// origin returns what the new node reads about the job of a pod.
func (w *gangHarness) origin(pod growth.PodUID) (bus.Sample, bool) {
	entries, _, err := w.Bus.List(w.T.Context(), bus.OriginKey(pod))
	require.NoError(w.T, err)
	if len(entries) == 0 {
		return bus.Sample{}, false
	}
	origin, err := bus.Decode[bus.Sample](entries[0].Value)
	require.NoError(w.T, err)
	return origin, true
}
