package mover_test

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// byLimits makes a pod one that asks for GPU memory by its containers' limits alone.
func byLimits(pod *corev1.Pod) { delete(pod.Annotations, gpushare.MemoryAnnotation) }

// The job of a bare pod that asks by its limits moves as any other, with what its user has annotated while it ran.
func TestMover_MovesAPodThatAsksByItsLimits(t *testing.T) {
	for name, annotated := range map[string]map[string]string{
		"no annotation of its user": {},
		"annotations of its user": {
			gpushare.PriorityAnnotation: "2", gpushare.TargetAnnotation: "loss<=0.05", gpushare.DeadlineAnnotation: "6h",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				w.admit()
				old := w.askByLimits(annotated)
				w.answer("p", 40, "")
				w.pass(3)
				require.Equal(t, []string{"p"}, w.evicted, w.events())
				require.NoError(t, w.Bus.Delete(t.Context(), bus.AllocationKey("a", growth.PodUID(old.UID))))
				w.Settle()
				w.pass(3)
				require.Equal(t, []move.State{move.Evicted}, w.states(), w.events())

				next := w.Get(clustertest.Pod(w.moves()[0].Next.Name, ""))
				require.Empty(t, next.Spec.SchedulingGates)
				require.Equal(t, old.Spec.Containers, next.Spec.Containers, "its limits are the request")
				want := maps.Clone(annotated)
				if want[gpushare.DeadlineAnnotation] != "" {
					want[gpushare.DeadlineAnnotation] = old.CreationTimestamp.Add(6 * time.Hour).UTC().Format(time.RFC3339)
				}
				require.Equal(t, want, byUser(next))
				before, _ := request.Read(old, gpushare.Resource)
				after, _ := request.Read(next, gpushare.Resource)
				require.Equal(t, before.Request, after.Request)
				require.NoError(t, w.scheduler.Bind(t.Context(), clustertest.Ref(next), "b"))
				w.pass(1)
				require.Equal(t, []move.State{move.Placed}, w.states(), w.events())
			})
		})
	}
}

// The old pod alone has what its user has annotated until the copy has it too.
func TestMover_EvictsAPodOnceItsCopyIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.admit()
		unavailable := true
		w.Client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			moves := w.moves()
			onCopy := len(moves) > 0 && action.(clienttesting.PatchAction).GetName() == moves[0].Next.Name
			return onCopy && unavailable, nil, errors.New("the API server is unavailable")
		})
		w.askByLimits(map[string]string{gpushare.PriorityAnnotation: "2"})
		w.answer("p", 40, "")
		for range 5 {
			require.ErrorContains(t, w.mover.Pass(t.Context(), time.Now()), "unavailable")
			w.Settle()
		}
		require.Empty(t, w.evicted)
		unavailable = false
		w.pass(2)
		require.Equal(t, []string{"p"}, w.evicted, w.events())
		require.Equal(t, "2", w.Get(clustertest.Pod(w.moves()[0].Next.Name, "")).Annotations[gpushare.PriorityAnnotation])
	})
}

// What the user says about the checkpoint counts for such a pod too.
func TestMover_ReadsTheCheckpointOfAPodThatAsksByItsLimits(t *testing.T) {
	refusals{
		"it is on no volume, but its user says that all nodes read it": {change: func(w *gangHarness) {
			w.edit("p", func(p *corev1.Pod) {
				byLimits(p)
				p.Spec.Containers[0].VolumeMounts = nil
				p.Annotations[gpushare.CheckpointVolumeAnnotation] = "shared"
			})
		}},
		"nothing was saved yet, but the path is known": {
			change: func(w *gangHarness) {
				w.samples[0].Checkpoint = nil
				w.saveOn("p", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
				w.edit("p", func(p *corev1.Pod) {
					byLimits(p)
					p.Annotations[gpushare.CheckpointAnnotation] = "signal:SIGUSR1"
					p.Annotations[gpushare.CheckpointPathAnnotation] = "/checkpoints/job.pt"
				})
			},
			why: "its checkpoint is on volume shared, which is deleted with pod p",
		},
	}.run(t)
}

// admit lets the API server refuse a new pod with annotations of a user and without a request for memory, as admission does.
func (w *gangHarness) admit() {
	w.Client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		created, ok := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		if !ok || action.GetSubresource() != "" {
			return false, nil, nil
		}
		if len(byUser(created)) > 0 && !gpushare.RequestsShare(created.Annotations) {
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), created.Name, errors.New("annotation gpushare/gpu-mem is missing"))
		}
		created.UID = "copy-uid"
		return false, nil, nil
	})
}

// askByLimits asks to move pod p, which asks by its limits and which its user has annotated, to node b. It returns the pod.
func (w *gangHarness) askByLimits(annotated map[string]string) *corev1.Pod {
	w.edit("p", func(p *corev1.Pod) {
		byLimits(p)
		maps.Copy(p.Annotations, annotated)
	})
	w.asks("p", "b")
	w.saving("p-uid")
	return w.Get(clustertest.Pod("p", ""))
}

// byUser returns the annotations of a pod that a user sets.
func byUser(pod *corev1.Pod) map[string]string {
	all := map[string]string{}
	for _, name := range gpushare.UserAnnotations() {
		if value, set := pod.Annotations[name]; set {
			all[name] = value
		}
	}
	return all
}
