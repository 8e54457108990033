package scheduler_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// rebound is a cluster with two nodes of 8 GiB and a pod of 8 GiB that a replica has bound to node n. The response was lost,
// and the second replica has not seen the Binding.
type rebound struct {
	*clustertest.Cluster
	pod    *corev1.Pod
	second *scheduler.Scheduler
}

func (r rebound) bindAgain(node growth.NodeName) error {
	return r.second.Bind(r.T.Context(), clustertest.Ref(r.pod), node)
}

// used returns the used memory of a node's only GPU, once every replica knows everything.
func (r rebound) used(node growth.NodeName) growth.MiB {
	r.Settle()
	r.Reconciler(nil).Reconcile(r.T.Context())
	r.Settle()
	return 8*growth.GiB - r.Cache.Snapshot().Node(node).GPUs[0].Free()
}

func testRebound(t *testing.T, test func(rebound)) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		c.Node("m", 8)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		second := c.Scheduler(c.Cache)
		second.Cache = lagging{c.Cache.Snapshot()}
		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
		test(rebound{c, pod, second})
		require.Equal(t, "n", c.Get(pod).Spec.NodeName)
		require.Equal(t, "n-a", c.Get(pod).Annotations[gpushare.GPUAnnotation])
	})
}

func TestRebind_SameNode(t *testing.T) {
	testRebound(t, func(r rebound) {
		require.NoError(r.T, r.bindAgain("n"))
		require.NoError(r.T, r.bindAgain("n"), "and once more")
		require.Len(r.T, r.Reservations("n"), 1)
		require.Equal(r.T, 8*growth.GiB, r.used("n"))
	})
}

func TestRebind_OtherNode(t *testing.T) {
	testRebound(t, func(r rebound) {
		err := r.bindAgain("m")
		require.ErrorIs(r.T, err, scheduler.ErrBoundElsewhere)
		require.EqualError(r.T, err, "pod default/p: the pod is bound already, to node n")
		require.Equal(r.T, "elsewhere", scheduler.Outcome(err))
		require.Empty(r.T, r.Reservations("m"))
		require.Zero(r.T, r.used("m"))
		require.Equal(r.T, 8*growth.GiB, r.used("n"))
	})
}

func TestRebind_AfterAllocation(t *testing.T) {
	testRebound(t, func(r rebound) {
		clustertest.Record(r.Cluster, bus.AllocationKey("n", "p-uid"), bus.Allocation{
			Pod: clustertest.Ref(r.pod),
			Containers: []bus.ContainerAllocation{
				{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 8 * growth.GiB}}},
			},
		})
		require.Equal(r.T, 8*growth.GiB, r.used("n"))
		require.Empty(r.T, r.Reservations("n"), "kubelet has allocated")
		require.NoError(r.T, r.bindAgain("n"))
		require.Equal(r.T, 8*growth.GiB, r.used("n"), "charged once")
		require.Empty(r.T, r.Reservations("n"))
	})
}

func TestRebind_NodeWithoutDevicePlugin(t *testing.T) {
	testRebound(t, func(r rebound) {
		for _, node := range []growth.NodeName{"n", "m"} {
			require.NoError(r.T, r.Bus.Delete(r.T.Context(), bus.GPUsKey(node)))
		}
		r.Settle()
		now := *r.Cache.Snapshot()
		now.Pods = r.second.Cache.Snapshot().Pods // the watch of pods lags
		r.second.Cache = lagging{&now}
		require.NoError(r.T, r.bindAgain("n"), "a bound pod needs no room")
		require.ErrorIs(r.T, r.bindAgain("m"), scheduler.ErrBoundElsewhere)
	})
}

func TestRebind_OtherGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8, 8)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		second := c.Scheduler(c.Cache)
		second.Cache = lagging{c.Cache.Snapshot()}
		bound := c.Get(pod)
		bound.Spec.NodeName, bound.Annotations[gpushare.GPUAnnotation] = "n", "n-b"
		c.Update(bound) // a replica bound it to the second GPU, and its reservation has expired
		require.NoError(t, second.Bind(t.Context(), clustertest.Ref(pod), "n"))
		require.Empty(t, c.Reservations("n"), "the GPU of the Binding counts")
		c.Settle()
		gpus := c.Cache.Snapshot().Node("n").GPUs
		require.Equal(t, 8*growth.GiB, gpus[0].Free())
		require.Zero(t, gpus[1].Free())
	})
}
