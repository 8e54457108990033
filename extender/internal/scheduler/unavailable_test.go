package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestBind_AssumesWhileBusIsUnavailable fills a node without the bus, connects it, and checks that every reservation is there.
func TestBind_AssumesWhileBusIsUnavailable(t *testing.T) {
	for name, noticed := range map[string]bool{"noticed by the watches": true, "not noticed yet": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 8, 8)
				var pods []*corev1.Pod
				for i := range 5 {
					pods = append(pods, c.Create(clustertest.Pod(fmt.Sprintf("p%d", i), "4Gi", 4)))
				}
				c.Settle()
				c.Mem.Fail(bus.ErrUnavailable)
				if noticed {
					c.Settle()
				}
				d := c.Scheduler(c.Cache)
				perGPU := map[string]int{}
				for _, pod := range pods[:4] {
					require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))
					perGPU[c.Get(pod).Annotations[gpushare.GPUAnnotation]]++
				}
				require.Equal(t, map[string]int{"n-a": 2, "n-b": 2}, perGPU, "assumed reservations count")
				require.ErrorIs(t, d.Bind(t.Context(), clustertest.Ref(pods[4]), "n"), scheduler.ErrNoRoom)
				require.Equal(t, 4, d.Assumed.PendingCount())

				c.Mem.Fail(nil)
				c.Settle()
				c.Reconciler(d).Reconcile(t.Context())
				require.Zero(t, d.Assumed.PendingCount())
				require.Len(t, c.Reservations("n"), 4)
				for uid, r := range c.Reservations("n") {
					require.Equal(t, c.Get(pods[uid[1]-'0']).Annotations[gpushare.GPUAnnotation], string(r.GPUs[0].GPU))
				}
				c.Settle()
				require.Zero(t, c.Cache.Snapshot().OverCommitted())
			})
		})
	}
}

func TestBind_PendingReservationMovesForKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8, 8)
		held, sure := c.Create(clustertest.Pod("held", "8Gi", 8)), c.Create(clustertest.Pod("sure", "8Gi", 8))
		c.Settle()
		c.Mem.Fail(bus.ErrUnavailable)
		s := c.Scheduler(c.Cache)
		require.NoError(t, s.Bind(t.Context(), clustertest.Ref(held), "n"))
		require.Equal(t, "n-a", c.Get(held).Annotations[gpushare.GPUAnnotation])
		c.Mem.Fail(nil)
		// In the meantime kubelet gave that GPU to another pod.
		clustertest.Record(c, bus.AllocationKey("n", "sure-uid"), bus.Allocation{Pod: clustertest.Ref(sure), Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 8 * growth.GiB}}},
		}})
		c.Settle()
		c.Reconciler(s).Reconcile(t.Context())
		require.Equal(t, growth.GPU("n-b"), c.Reservations("n")["held-uid"].GPUs[0].GPU)
		c.Settle()
		require.Zero(t, c.Cache.Snapshot().OverCommitted())
	})
}

func TestBind_RefusedBindingIsNotAssumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		c.Mem.Fail(bus.ErrUnavailable)
		c.Bindings.Fail(apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("no right to bind")))
		s := c.Scheduler(c.Cache)
		require.ErrorIs(t, s.Bind(t.Context(), clustertest.Ref(pod), "n"), scheduler.ErrBindingRefused)
		require.Zero(t, s.Assumed.PendingCount())
	})
}

func TestAssumed_PendingIsBounded(t *testing.T) {
	assumed := &reservations.Assumed{}
	assume := func(uid growth.PodUID) error {
		_, err := assumed.Assume("n", func(func(bus.Revision) reservations.OnNode) (bus.Reservation, error) {
			return bus.Reservation{Pod: growth.PodRef{UID: uid}}, nil
		})
		return err
	}
	for i := range reservations.MaxPending {
		require.NoError(t, assume(growth.PodUID(fmt.Sprint(i))))
	}
	require.ErrorIs(t, assume("one more"), reservations.ErrFull)
	require.NoError(t, assume("7"), "the same pod")
	assumed.ForgetPending("7", "elsewhere")
	require.ErrorIs(t, assume("one more"), reservations.ErrFull, "the pod is pending on another node")
	assumed.ForgetPending("7", "n")
	require.NoError(t, assume("one more"))
	require.Equal(t, "bus_away", scheduler.Outcome(assume("two more")))
}
