package scheduler_test

import (
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// runs creates a bound pod on a GPU, node-a for the first one of its node. Its UID is its name and "-uid".
func runs(c *clustertest.Cluster, name, node string, gpu growth.GPU, gib int, priority int32) {
	pod := clustertest.Pod(name, strconv.Itoa(gib), gib)
	pod.Spec.NodeName, pod.Spec.Priority = node, &priority
	pod.Labels = map[string]string{"app": name}
	pod.Annotations[gpushare.GPUAnnotation] = string(gpu)
	c.Create(pod)
}

func reports(c *clustertest.Cluster, name, node string, g growth.Growth) {
	clustertest.Record(c, bus.SampleKey(growth.PodUID(name+"-uid")), bus.Sample{Node: growth.NodeName(node), Reported: true, Growth: g})
}

func addBudget(c *clustertest.Cluster, name string, allowed int32) {
	c.T.Helper()
	addBudgetFor(c, name, &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, allowed)
}

func addBudgetFor(c *clustertest.Cluster, name string, pods *metav1.LabelSelector, allowed int32) {
	c.T.Helper()
	_, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Create(c.T.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: pods},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}, metav1.CreateOptions{})
	require.NoError(c.T, err)
}

func urgent(gib int) *corev1.Pod {
	pod := clustertest.Pod("urgent", strconv.Itoa(gib), gib)
	pod.Spec.Priority = new(int32(10))
	return pod
}

func candidate(node string, violations int64, victims ...growth.PodUID) scheduler.Candidate {
	return scheduler.Candidate{Node: node, Violations: violations, Victims: victims}
}

var preemptions = map[string]struct {
	cluster func(*clustertest.Cluster)
	pod     *corev1.Pod
	offered []scheduler.Candidate
	want    []scheduler.Candidate
}{
	"one GPU and not half of two": {
		cluster: func(c *clustertest.Cluster) {
			runs(c, "a0", "n", "n-a", 4, 0)
			runs(c, "a5", "n", "n-a", 4, 5)
			runs(c, "b0", "n", "n-b", 4, 0)
			runs(c, "b1", "n", "n-b", 4, 1)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("n", 0, "a0-uid", "b0-uid")},
		want: []scheduler.Candidate{candidate("n", 0, "b1-uid", "b0-uid")},
	},
	"the node that loses least growth": {
		cluster: func(c *clustertest.Cluster) {
			for _, node := range []string{"n", "m"} {
				runs(c, node+"1", node, growth.GPU(node+"-a"), 8, 0)
				runs(c, node+"2", node, growth.GPU(node+"-b"), 8, 0)
			}
			reports(c, "n1", "n", 0.9)
			reports(c, "n2", "n", 0.4)
			reports(c, "m1", "m", 0.3)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("m", 0, "m2-uid"), candidate("n", 0, "n1-uid")},
		want: []scheduler.Candidate{candidate("m", 0, "m1-uid")},
	},
	"a job with a budget is spared": {
		cluster: func(c *clustertest.Cluster) {
			runs(c, "guarded", "n", "n-a", 8, 0)
			runs(c, "free", "n", "n-b", 8, 5)
			addBudget(c, "guarded", 0)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("n", 1, "guarded-uid")},
		want: []scheduler.Candidate{candidate("n", 0, "free-uid")},
	},
	"an inevitable violation is reported": {
		cluster: func(c *clustertest.Cluster) {
			runs(c, "guarded", "n", "n-a", 8, 0)
			runs(c, "peer", "n", "n-b", 8, 10)
			addBudget(c, "guarded", 0)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("n", 1, "guarded-uid")},
		want: []scheduler.Candidate{candidate("n", 1, "guarded-uid")},
	},
	"a budget that allows a disruption": {
		cluster: func(c *clustertest.Cluster) {
			runs(c, "guarded", "n", "n-a", 8, 0)
			runs(c, "free", "n", "n-b", 8, 5)
			addBudget(c, "guarded", 1)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("n", 0, "guarded-uid")},
		want: []scheduler.Candidate{candidate("n", 0, "guarded-uid")},
	},
	"a budget with an empty selector spares none, as in kube-scheduler": {
		cluster: func(c *clustertest.Cluster) {
			runs(c, "a", "n", "n-a", 8, 0)
			runs(c, "b", "n", "n-b", 8, 5)
			addBudgetFor(c, "all", &metav1.LabelSelector{}, 0)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("n", 0, "a-uid")},
		want: []scheduler.Candidate{candidate("n", 0, "a-uid")},
	},
	"a victim without a share stays, with its violation": {
		cluster: func(c *clustertest.Cluster) {
			runs(c, "a", "n", "n-a", 8, 0)
			runs(c, "b", "n", "n-b", 8, 5)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("n", 1, "a-uid", "web-uid")},
		want: []scheduler.Candidate{candidate("n", 1, "a-uid", "web-uid")},
	},
	"no victim of the same priority": {
		cluster: func(c *clustertest.Cluster) {
			runs(c, "a", "n", "n-a", 4, 10)
			runs(c, "b", "n", "n-b", 4, 10)
			runs(c, "c", "n", "n-b", 2, 0)
		},
		pod: urgent(8), offered: []scheduler.Candidate{candidate("n", 0, "c-uid")},
	},
	"unknown node": {
		cluster: func(*clustertest.Cluster) {}, pod: urgent(8), offered: []scheduler.Candidate{candidate("x", 0, "c-uid")},
	},
	"pod without a request": {
		cluster: func(*clustertest.Cluster) {}, pod: &corev1.Pod{}, offered: []scheduler.Candidate{candidate("n", 0, "c-uid")},
		want: []scheduler.Candidate{candidate("n", 0, "c-uid")},
	},
}

func TestPreempt(t *testing.T) {
	for name, tc := range preemptions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 8, 8)
				c.Node("m", 8, 8)
				tc.cluster(c)
				c.Settle()
				got, err := c.Scheduler(c.Cache).Preempt(tc.pod, tc.offered)
				require.NoError(t, err)
				require.Equal(t, tc.want, got)
			})
		})
	}
}

// TestPreempt_FilterAcceptsNominatedNode retries the pod before the records show that the victims are gone.
func TestPreempt_FilterAcceptsNominatedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		runs(c, "low", "n", "n-a", 8, 0)
		pod := c.Create(urgent(8))
		c.Settle()
		d := c.Scheduler(c.Cache)
		fit := func(pod *corev1.Pod) []string {
			found, err := d.Filter(pod, []string{"n"})
			require.NoError(t, err)
			return found.Fit()
		}
		require.Empty(t, fit(pod))
		_, err := d.Preempt(pod, []scheduler.Candidate{candidate("n", 0, "low-uid")})
		require.NoError(t, err)
		require.Equal(t, []string{"n"}, fit(pod), "the node is nominated")
		require.Equal(t, []string{"n"}, fit(pod), "repeatedly")
		require.Empty(t, fit(clustertest.Pod("other", "1Gi", 1)), "not for another pod")
		require.ErrorIs(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"), scheduler.ErrNoRoom, "there is no room yet")
		c.Delete(clustertest.Pod("low", "8", 8))
		c.Settle()
		require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))
	})
}

func TestPreempt_FailsBeforeFirstSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		_, err := c.Scheduler(unsynced(c)).Preempt(urgent(8), []scheduler.Candidate{candidate("n", 0, "p-uid")})
		require.ErrorContains(t, err, "has not seen the whole cluster yet")
	})
}

// TestPreempt_NominationDoesNotDependOnDecisionLog lets other decisions replace the pod's in the decision log.
func TestPreempt_NominationDoesNotDependOnDecisionLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		runs(c, "low", "n", "n-a", 8, 0)
		pod := c.Create(urgent(8))
		c.Settle()
		s := c.Scheduler(c.Cache)
		_, err := s.Preempt(pod, []scheduler.Candidate{candidate("n", 0, "low-uid")})
		require.NoError(t, err)
		for i := range 2000 {
			_, err := s.Filter(clustertest.Pod(strconv.Itoa(i), "1Gi", 1), []string{"n"})
			require.NoError(t, err)
		}
		_, logged := s.Explain(pod.Namespace, pod.Name)
		require.False(t, logged)
		result, err := s.Filter(pod, []string{"n"})
		require.NoError(t, err)
		require.Equal(t, []string{"n"}, result.Fit())
	})
}
