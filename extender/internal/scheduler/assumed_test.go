package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// TestBind_NoConflictWithOwnReservations binds pod after pod to one node before the snapshot shows the first one.
func TestBind_NoConflictWithOwnReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24, 24)
		var pods []growth.PodRef
		for i := range 7 {
			pods = append(pods, clustertest.Ref(c.Create(clustertest.Pod(fmt.Sprintf("p%d", i), "8Gi", 8))))
		}
		c.Settle()
		d := c.Scheduler(c.Cache)
		conflicts := 0
		d.Cache, d.OnConflict = lagging{c.Cache.Snapshot()}, func() { conflicts++ }
		for _, pod := range pods[:6] {
			require.NoError(t, d.Bind(t.Context(), pod, "n"))
		}
		require.ErrorIs(t, d.Bind(t.Context(), pods[6], "n"), scheduler.ErrNoRoom)
		require.Zero(t, conflicts)
		on := map[growth.GPU]int{}
		for _, r := range c.Reservations("n") {
			on[r.GPUs[0].GPU]++
		}
		require.Equal(t, map[growth.GPU]int{"n-a": 3, "n-b": 3}, on)
	})
}

// TestBind_ReadsNodeAfterConflict lets another replica reserve in between.
func TestBind_ReadsNodeAfterConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		var pods []growth.PodRef
		for i := range 4 {
			pods = append(pods, clustertest.Ref(c.Create(clustertest.Pod(fmt.Sprintf("p%d", i), "8Gi", 8))))
		}
		c.Settle()
		mine, other := c.Scheduler(c.Cache), c.Scheduler(c.Cache)
		conflicts := 0
		mine.Cache, other.Cache = lagging{c.Cache.Snapshot()}, lagging{c.Cache.Snapshot()}
		mine.OnConflict = func() { conflicts++ }
		require.NoError(t, mine.Bind(t.Context(), pods[0], "n"))
		require.NoError(t, other.Bind(t.Context(), pods[1], "n"))
		require.NoError(t, mine.Bind(t.Context(), pods[2], "n"))
		require.ErrorIs(t, mine.Bind(t.Context(), pods[3], "n"), scheduler.ErrNoRoom)
		require.Equal(t, 2, conflicts, "for the third pod and for the fourth, which the snapshot does not show")
		require.Len(t, c.Reservations("n"), 3)
	})
}

// TestBind_NoConflictOnDifferentGPUs lets two replicas reserve on one node without knowing the other's decision.
func TestBind_NoConflictOnDifferentGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8, 16)
		small, large := c.Create(clustertest.Pod("small", "8Gi", 8)), c.Create(clustertest.Pod("large", "16Gi", 16))
		c.Settle()
		before := lagging{c.Cache.Snapshot()}
		for _, pod := range []*corev1.Pod{small, large} {
			d := c.Scheduler(c.Cache)
			d.Cache, d.OnConflict = before, func() { t.Error("a conflict") }
			require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))
		}
		require.Len(t, c.Reservations("n"), 2)

		conflicts := 0
		third := c.Create(clustertest.Pod("third", "1Gi", 1))
		d := c.Scheduler(c.Cache)
		d.Cache, d.OnConflict = before, func() { conflicts++ }
		require.ErrorIs(t, d.Bind(t.Context(), clustertest.Ref(third), "n"), scheduler.ErrNoRoom)
		require.Equal(t, 1, conflicts, "on the same GPU there is a conflict")
	})
}

// TestBind_ReleasedReservationIsAConflict decides on a snapshot from before a reservation that has been released since. The
// snapshot does not show the bound pod either.
func TestBind_ReleasedReservationIsAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		first, second := c.Create(clustertest.Pod("first", "8Gi", 8)), c.Create(clustertest.Pod("second", "8Gi", 8))
		c.Settle()
		before := lagging{c.Cache.Snapshot()}
		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(first), "n"))
		clustertest.Record(c, bus.AllocationKey("n", "first-uid"), bus.Allocation{Pod: clustertest.Ref(first), Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 8 * growth.GiB}}},
		}})
		c.Settle()
		c.Reconciler(nil).Reconcile(t.Context())
		require.Empty(t, c.Reservations("n"))
		d := c.Scheduler(c.Cache)
		d.Cache = before
		require.ErrorIs(t, d.Bind(t.Context(), clustertest.Ref(second), "n"), scheduler.ErrNoRoom)
	})
}
