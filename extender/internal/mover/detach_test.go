package mover_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// operatorLabel is one of the two labels by which the training operator selects the pods of a PyTorchJob.
const operatorLabel = "training.kubeflow.org/operator-name"

// ownPyTorch makes a pod one of a PyTorchJob: the master if its name ends with 0, else the worker. Its labels and variables are
// those that the training operator 1.9 sets.
func ownPyTorch(pod *corev1.Pod) {
	yes := true
	replica := "worker"
	if strings.HasSuffix(pod.Name, "0") {
		replica = "master"
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "g", UID: "job", Controller: &yes}}
	pod.Labels = map[string]string{
		operatorLabel:                         "pytorchjob-controller",
		"training.kubeflow.org/job-name":      "g",
		"training.kubeflow.org/replica-type":  replica,
		"training.kubeflow.org/replica-index": "0",
	}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "MASTER_ADDR", Value: "g-master-0"},
		{Name: "WORLD_SIZE", Value: "2"},
		{Name: "PET_NNODES", Value: "2"},
	}
}

// The training operator fails a PyTorchJob, or restarts it, when it sees that one of its pods has failed, also one that is evicted.
func TestMover_MovesAPyTorchJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarnessOf(t, ownPyTorch)
		w.onEviction(func(pod *corev1.Pod) error {
			for _, name := range []string{"g-0", "g-1"} {
				if other := w.get(name); other != nil {
					require.NotContains(t, other.Labels, operatorLabel, "%s is not evicted before %s has left", pod.Name, name)
				}
			}
			require.Contains(t, pod.Labels, "training.kubeflow.org/replica-type", "the operator sees by it that the pod is gone")
			return nil
		})
		w.edit("g-0", func(p *corev1.Pod) { p.Annotations[gpushare.DeadlineAnnotation] = "6h" })
		w.edit("g-1", func(p *corev1.Pod) { p.Annotations[gpushare.DeadlineAnnotation] = "6h" })
		created := w.Get(clustertest.Pod("g-0", "")).CreationTimestamp.Time
		w.ask("g-0", "c")
		w.pass(3)
		require.Equal(t, both(move.Saving), w.states(), "they are a gang: %s", w.events())
		w.answer("g-0", 40, "")
		w.answer("g-1", 40, "")
		w.pass(4)
		require.Equal(t, []string{"g-0", "g-1"}, w.evicted)
		require.Equal(t, both(move.Evicted), w.states())
		w.continues(t, created)
	})
}

// A pod that is not evicted belongs to its PyTorchJob again.
func TestMover_ReturnsAPodToItsPyTorchJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarnessOf(t, func(p *corev1.Pod) {
			ownPyTorch(p)
			p.Spec.Containers[0].Env = nil // a job of one pod
		})
		w.Delete(clustertest.Pod("g-1", ""))
		w.onEviction(func(pod *corev1.Pod) error {
			require.NotContains(t, pod.Labels, operatorLabel)
			return apierrors.NewTooManyRequests("a budget of another kind", 1)
		})
		w.asks("g-0", "c")
		w.pass(3)
		w.answer("g-0", 40, "")
		w.pass(4)
		require.Equal(t, []move.State{move.Saved}, w.states(), w.events())
		require.NotContains(t, w.get("g-0").Labels, operatorLabel)
		time.Sleep(6 * time.Minute)
		w.pass(4)
		require.Equal(t, []move.State{move.Aborted}, w.states(), w.events())
		require.Equal(t, "pytorchjob-controller", w.get("g-0").Labels[operatorLabel])
		require.Empty(t, w.evicted)
	})
}

// A pod of an operator that does not know the label is evicted as it is, and so is one that a disruption budget counts.
func TestMover_LeavesAPodWithItsPyTorchJob(t *testing.T) {
	tests := map[string]func(*gangHarness){
		"another operator": func(w *gangHarness) {
			w.edit("g-0", func(p *corev1.Pod) { p.Labels[operatorLabel] = "another" })
		},
		"a disruption budget": func(w *gangHarness) {
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g"}}
			budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"training.kubeflow.org/job-name": "g"}}
			_, err := w.Client.PolicyV1().PodDisruptionBudgets("default").Create(w.T.Context(), budget, metav1.CreateOptions{})
			require.NoError(w.T, err)
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarnessOf(t, func(p *corev1.Pod) {
					ownPyTorch(p)
					p.Spec.Containers[0].Env = nil
				})
				w.Delete(clustertest.Pod("g-1", ""))
				prepare(w)
				w.onEviction(func(pod *corev1.Pod) error {
					require.Contains(t, pod.Labels, operatorLabel)
					return nil
				})
				w.asks("g-0", "c")
				w.pass(3)
				w.answer("g-0", 40, "")
				w.pass(3)
				require.Equal(t, []string{"g-0"}, w.evicted, w.events())
			})
		})
	}
}

// onEviction calls a function with each pod before it is evicted. Its error refuses that.
func (w *gangHarness) onEviction(check func(*corev1.Pod) error) {
	w.Client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		pod := w.get(action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).Name)
		err := check(pod)
		return err != nil, nil, err
	})
}

// get returns a pod; nil if there is none.
func (w *gangHarness) get(name string) *corev1.Pod {
	object, err := w.Client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "default", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.T, err)
	return object.(*corev1.Pod)
}
