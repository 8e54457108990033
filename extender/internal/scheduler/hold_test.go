package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

// moving returns a cluster of nodes a and b with 8 GiB each, and a pod with 6 GiB that runs on a and moves to b.
func moving(t *testing.T) (*clustertest.Cluster, *corev1.Pod) {
	c := clustertest.New(t)
	c.Node("a", 8)
	c.Node("b", 8)
	old := clustertest.Pod("old", "6Gi", 6)
	old.Annotations[gpushare.GPUAnnotation] = "a-a"
	old.Spec.NodeName = "a"
	old = c.Create(old)
	clustertest.Record(c, bus.AllocationKey("a", "old-uid"), bus.Allocation{
		Pod: clustertest.Ref(old),
		Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "a-a", Memory: 6 * growth.GiB}}},
		},
	})
	return c, old
}

// drop releases what is held on b.
func drop(t *testing.T, s *scheduler.Scheduler, old *corev1.Pod, anything bool) {
	t.Helper()
	released, err := s.Drop(t.Context(), clustertest.Ref(old), "b")
	require.NoError(t, err)
	require.Equal(t, anything, released)
}

// Memory that is held for a move is for no other pod, survives the end of the old pod, and changes hands in one commit.
func TestHold_IsForTheSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, old := moving(t)
		s := c.Scheduler(c.Cache)
		s.Place = func(p move.Identity) move.Place {
			if p.Name == "new" {
				return move.Place{Only: "b", Not: "a", Old: "old-uid"}
			}
			return move.Place{}
		}
		c.Settle()
		require.NoError(t, s.Hold(t.Context(), "old-uid", "b"))
		c.Settle()
		require.True(t, c.Reservations("b")["old-uid"].Held)

		other := c.Create(clustertest.Pod("other", "4Gi", 4))
		c.Settle()
		result, err := s.Filter(other, []string{"b"})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"b": "GPU memory: 4GiB asked, largest free share 2GiB on gpu-0"}, result.Failed(false))

		c.Delete(old)
		successor := c.Create(clustertest.Pod("new", "6Gi", 6))
		c.Settle()
		reconciler := c.Reconciler(s)
		reconciler.Reconcile(t.Context())
		c.Settle()
		result, err = s.Filter(successor, []string{"a", "b"})
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, result.Fit())

		require.NoError(t, s.Bind(t.Context(), clustertest.Ref(successor), "b"))
		require.Empty(t, c.Reservations("b")["old-uid"].GPUs, "at once, in the same commit")
		c.Settle()
		require.Zero(t, c.Cache.Snapshot().OverCommitted())
		drop(t, s, old, true)
		require.Len(t, c.Reservations("b"), 1)
		require.Contains(t, c.Reservations("b"), growth.PodUID("new-uid"))
	})
}

func TestHold_IsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, old := moving(t)
		s := c.Scheduler(c.Cache)
		c.Settle()
		hold := func() time.Time {
			require.NoError(t, s.Hold(t.Context(), "old-uid", "b"))
			c.Settle()
			return c.Reservations("b")["old-uid"].Created
		}
		first := hold()
		time.Sleep(time.Minute)
		require.True(t, hold().Equal(first))
		time.Sleep(time.Minute)
		second := hold()
		require.True(t, second.After(first))
		c.Delete(old)
		c.Settle()
		time.Sleep(2 * time.Minute)
		require.True(t, hold().After(second), "also after the end of the pod")
		drop(t, s, old, true)
		c.Settle()
		require.Empty(t, c.Reservations("b"))
		drop(t, s, old, false)
	})
}

// A pod of a gang may start again on its node. Its memory is for no other pod in between.
func TestHold_KeepsTheMemoryOfAPodThatStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, old := moving(t)
		s := c.Scheduler(c.Cache)
		s.Place = func(p move.Identity) move.Place {
			if p.Name == "new" {
				return move.Place{Only: "a", Old: "old-uid"}
			}
			return move.Place{}
		}
		c.Settle()
		require.NoError(t, s.Hold(t.Context(), "old-uid", "a"))
		c.Settle()
		require.True(t, s.Held("old-uid", "a"))
		require.Zero(t, c.Cache.Snapshot().OverCommitted(), "it counts once")
		c.Reconciler(s).Reconcile(t.Context())
		c.Settle()

		other := c.Create(clustertest.Pod("other", "4Gi", 4))
		fits := func() bool {
			c.Settle()
			result, err := s.Filter(other, []string{"a"})
			require.NoError(t, err)
			return len(result.Fit()) > 0
		}
		require.False(t, fits())
		c.Delete(old)
		require.False(t, fits(), "its devices are free, and reserved")
		require.NoError(t, c.Bus.Delete(t.Context(), bus.AllocationKey("a", "old-uid")))
		require.False(t, fits())

		successor := c.Create(clustertest.Pod("new", "6Gi", 6))
		c.Settle()
		require.NoError(t, s.Bind(t.Context(), clustertest.Ref(successor), "a"))
		c.Settle()
		require.Empty(t, c.Reservations("a")["old-uid"].GPUs)
		require.Zero(t, c.Cache.Snapshot().OverCommitted())
		require.False(t, s.Held("old-uid", "a"))
	})
}

// Budgets must permit the eviction of all pods.
func TestProtected_CountsAllPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		s := c.Scheduler(c.Cache)
		var pods []*corev1.Pod
		for _, name := range []string{"first", "second"} {
			pod := clustertest.Pod(name, "4Gi", 4)
			pod.Labels = map[string]string{"app": "ddp"}
			pods = append(pods, pod)
		}
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ddp"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ddp"}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
		}
		budgets := c.Client.PolicyV1().PodDisruptionBudgets("default")
		_, err := budgets.Create(t.Context(), budget, metav1.CreateOptions{})
		require.NoError(t, err)
		c.Settle()
		require.Empty(t, s.Protected(pods[0]))
		require.Equal(t, "default/ddp", s.Protected(pods...))
		budget.Status.DisruptionsAllowed = 2
		_, err = budgets.Update(t.Context(), budget, metav1.UpdateOptions{})
		require.NoError(t, err)
		c.Settle()
		require.Empty(t, s.Protected(pods...))
		budget = budget.DeepCopy()
		budget.Name = "too"
		_, err = budgets.Create(t.Context(), budget, metav1.CreateOptions{})
		require.NoError(t, err)
		c.Settle()
		require.Equal(t, "default/ddp next to default/too", s.Protected(pods[0]), "the API server evicts no such pod")
	})
}

// A budget that the Eviction API applies, and this package does not, would refuse the evictions of a move that has begun.
func TestProtected_SelectsPodsAsTheEvictionAPI(t *testing.T) {
	app := map[string]string{"app": "ddp"}
	for name, tc := range map[string]struct {
		selector *metav1.LabelSelector
		labels   map[string]string
		want     string
	}{
		"its labels":                     {selector: &metav1.LabelSelector{MatchLabels: app}, labels: app, want: "default/all"},
		"other labels":                   {selector: &metav1.LabelSelector{MatchLabels: app}, labels: map[string]string{"app": "web"}},
		"an empty selector":              {selector: &metav1.LabelSelector{}, labels: app, want: "default/all"},
		"an empty one, without labels":   {selector: &metav1.LabelSelector{}, want: "default/all"},
		"no selector":                    {labels: app},
		"without labels, one that lacks": {selector: lacks("app"), want: "default/all"},
		"an invalid selector":            {selector: &metav1.LabelSelector{MatchLabels: map[string]string{"-": "-"}}, labels: app},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				s := c.Scheduler(c.Cache)
				_, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all"},
					Spec:       policyv1.PodDisruptionBudgetSpec{Selector: tc.selector},
				}, metav1.CreateOptions{})
				require.NoError(t, err)
				c.Settle()
				pod := clustertest.Pod("ddp", "4Gi", 4)
				pod.Labels = tc.labels
				require.Equal(t, tc.want, s.Protected(pod))
			})
		})
	}
}

// lacks selects pods without a label.
func lacks(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpDoesNotExist}}}
}
