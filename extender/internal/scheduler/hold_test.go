package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

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
		require.True(t, hold().After(first))
		require.NoError(t, s.Hold(t.Context(), "old-uid", "a"), "it is there")
		require.Empty(t, c.Reservations("a"))
		drop(t, s, old, true)
		c.Settle()
		require.Empty(t, c.Reservations("b"))
		drop(t, s, old, false)
	})
}
