package reconcile_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestRelease_ObsoleteReservations(t *testing.T) {
	allocate := func(c *clustertest.Cluster, containers ...string) {
		var a bus.Allocation
		for _, name := range containers {
			a.Containers = append(a.Containers, bus.ContainerAllocation{Name: name, GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 4 * growth.GiB}}})
		}
		clustertest.Record(c, bus.AllocationKey("n", "p-uid"), a)
	}
	for name, tc := range map[string]struct {
		change func(*clustertest.Cluster, *corev1.Pod)
		stays  bool
	}{
		"no change":                   {func(*clustertest.Cluster, *corev1.Pod) {}, true},
		"allocation complete":         {func(c *clustertest.Cluster, _ *corev1.Pod) { allocate(c, "c0", "c1") }, false},
		"allocation of one container": {func(c *clustertest.Cluster, _ *corev1.Pod) { allocate(c, "c0") }, true},
		"pod deleted":                 {func(c *clustertest.Cluster, pod *corev1.Pod) { c.Delete(pod) }, false},
		"another pod of the same name": {func(c *clustertest.Cluster, pod *corev1.Pod) {
			c.Delete(pod)
			pod = pod.DeepCopy()
			pod.UID = "another"
			c.Create(pod)
		}, false},
		"pod ended": {func(c *clustertest.Cluster, pod *corev1.Pod) {
			pod = c.Get(pod).DeepCopy()
			pod.Status.Phase = corev1.PodFailed
			c.Update(pod)
		}, false},
		"bus unavailable": {func(c *clustertest.Cluster, pod *corev1.Pod) {
			c.Delete(pod)
			c.Settle()
			c.Mem.Fail(bus.ErrUnavailable)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 24)
				pod := c.Create(clustertest.Pod("p", "8Gi", 4, 4))
				c.Settle()
				require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
				c.Settle()
				tc.change(c, pod)
				c.Settle()
				c.Reconciler(nil).Reconcile(t.Context())
				c.Mem.Fail(nil)
				require.Equal(t, tc.stays, len(c.Reservations("n")) == 1)
				c.Settle()
				require.Zero(t, c.Cache.Snapshot().OverCommitted())
			})
		})
	}
}

func TestRelease_ReservationOnAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		pod := clustertest.Pod("p", "8Gi", 8)
		pod.Spec.NodeName, pod.Annotations[gpushare.GPUAnnotation] = "m", "m-a"
		pod = c.Create(pod)
		clustertest.Record(c, bus.ReservationKey("n", "p-uid"), bus.Reservation{Pod: clustertest.Ref(pod)})
		c.Settle()
		c.Reconciler(nil).Reconcile(t.Context())
		require.Empty(t, c.Reservations("n"))
	})
}

func TestRelease_KeepsPodThatTheSnapshotLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		c.Settle()
		pod := clustertest.Pod("p", "8Gi", 8)
		pod.Annotations, pod.Spec.Containers[0].Resources.Limits = nil, nil // so that the snapshot does not have the pod
		pod = c.Create(pod)
		clustertest.Record(c, bus.ReservationKey("n", "p-uid"), bus.Reservation{Pod: clustertest.Ref(pod)})
		c.Settle()
		c.Reconciler(nil).Reconcile(t.Context())
		require.Len(t, c.Reservations("n"), 1)
	})
}
