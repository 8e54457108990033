package mover_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/mover"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// gangHarness is a harness with a third node, c, and an Indexed Job of two pods that are one job: g-0 on node a and g-1 on node b.
type gangHarness struct {
	*harness
	own     func(*corev1.Pod) // makes a pod one of the owner
	evicted []string
}

func newGangHarness(t *testing.T) *gangHarness { return newGangHarnessOf(t, own) }

// newGangHarnessOf returns a harness whose pods have another owner.
func newGangHarnessOf(t *testing.T, own func(*corev1.Pod)) *gangHarness {
	w := &gangHarness{harness: newHarness(t, mover.Requested), own: own}
	w.ready("c")
	w.job("g-0", "a", 4)
	w.job("g-1", "b", 4)
	for _, name := range []string{"g-0", "g-1"} {
		w.edit(name, own)
	}
	w.scheduler.Place = func(p move.Identity) move.Place { return w.mover.Place(p) }
	w.scheduler.Confirm = func(ctx context.Context, ref growth.PodRef) (move.Place, error) { return w.mover.Confirm(ctx, ref) }
	w.scheduler.Gangs = waiting{}
	w.Settle() // no informer calls the reactors any more
	w.Client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		name := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).Name
		w.evicted = append(w.evicted, name)
		return true, nil, w.Client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", name)
	})
	w.Settle()
	return w
}

// own makes a pod one of the Indexed Job. Its name ends with its index.
func own(pod *corev1.Pod) {
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "g", UID: "job", Controller: &yes}}
	pod.Labels = map[string]string{batchv1.ControllerUidLabel: "job"}
	pod.Annotations[batchv1.JobCompletionIndexAnnotation] = pod.Name[len(pod.Name)-1:]
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MASTER_ADDR", Value: "g-0.g"}}
}

// waiting lets every pod of a gang wait.
type waiting struct{}

func (waiting) Offer(request.Pod, []growth.NodeName) gang.Room { return gang.Room{Wait: "it waits"} }
func (waiting) Room(request.Pod) gang.Room                     { return gang.Room{Wait: "it waits"} }

// edit changes a pod.
func (w *harness) edit(name string, change func(*corev1.Pod)) {
	pod := w.Get(clustertest.Pod(name, ""))
	change(pod)
	w.Update(pod)
}

// ask asks to move a pod.
func (w *gangHarness) ask(name, to string) {
	w.edit(name, func(p *corev1.Pod) { p.Annotations[gpushare.MoveAnnotation] = to })
	w.Settle()
	w.pass(2) // others may be asked to move too
	require.Empty(w.T, w.moves())
}

// answer lets the coordinators say what the job has saved, or why it has not.
func (w *gangHarness) answer(name string, step int64, failed string) {
	w.edit(name, func(p *corev1.Pod) {
		p.Annotations[gpushare.SavedAnnotation] = gpushare.Saved{
			Request: p.Annotations[gpushare.SaveAnnotation], Step: step, SHA256: strings.Repeat("0f", 32), Path: "/checkpoints/g.pt", Failed: failed,
		}.String()
	})
}

// pass makes some passes.
func (w *gangHarness) pass(times int) {
	for range times {
		require.NoError(w.T, w.mover.Pass(w.T.Context(), time.Now()))
		w.Settle()
	}
}

// states returns the states of both moves.
func (w *gangHarness) states() (states []move.State) {
	for _, r := range w.moves() {
		states = append(states, r.State)
	}
	return states
}

func both(s move.State) []move.State { return []move.State{s, s} }

// annotated reports whether a pod has an annotation.
func (w *gangHarness) annotated(name, annotation string) bool {
	return w.Get(clustertest.Pod(name, "")).Annotations[annotation] != ""
}

// eventType returns the type of the only event of a pod with a reason.
func (w *gangHarness) eventType(pod, reason string) string {
	list, err := w.Client.CoreV1().Events("default").List(w.T.Context(), metav1.ListOptions{})
	require.NoError(w.T, err)
	var types []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == pod && e.Reason == reason {
			types = append(types, e.Type)
		}
	}
	require.Len(w.T, types, 1)
	return types[0]
}
