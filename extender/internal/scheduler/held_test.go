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

// TestBindsGoOnWhileTheBusIsAway fills a node without a bus, gets it back, and looks for everything on it.
func TestBindsGoOnWhileTheBusIsAway(t *testing.T) {
	for name, noticed := range map[string]bool{"away for long": true, "just gone": false} {
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
				d := c.Decider(c.Keeper)
				perGPU := map[string]int{}
				for _, pod := range pods[:4] {
					require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))
					perGPU[c.Now(pod).Annotations[gpushare.GPUAnnotation]]++
				}
				require.Equal(t, map[string]int{"n-a": 2, "n-b": 2}, perGPU, "what is held in memory counts, though no view shows it yet")
				require.ErrorIs(t, d.Bind(t.Context(), clustertest.Ref(pods[4]), "n"), scheduler.ErrNoRoom)
				require.Equal(t, 4, c.Held.Len())

				c.Mem.Fail(nil)
				c.Settle()
				c.Sweeper().Once(t.Context())
				require.Zero(t, c.Held.Len())
				require.Len(t, c.Reservations("n"), 4)
				for uid, r := range c.Reservations("n") {
					require.Equal(t, c.Now(pods[uid[1]-'0']).Annotations[gpushare.GPUAnnotation], string(r.GPUs[0].GPU))
				}
				c.Settle()
				require.Zero(t, c.Keeper.Snapshot().OverCommitted())
			})
		})
	}
}

func TestWhatIsHeldYieldsToKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8, 8)
		held, sure := c.Create(clustertest.Pod("held", "8Gi", 8)), c.Create(clustertest.Pod("sure", "8Gi", 8))
		c.Settle()
		c.Mem.Fail(bus.ErrUnavailable)
		require.NoError(t, c.Decider(c.Keeper).Bind(t.Context(), clustertest.Ref(held), "n"))
		require.Equal(t, "n-a", c.Now(held).Annotations[gpushare.GPUAnnotation])
		c.Mem.Fail(nil)
		// Kubelet gave that GPU to another pod meanwhile.
		clustertest.Record(c, bus.AllocationKey("n", "sure-uid"), bus.Allocation{Pod: clustertest.Ref(sure), Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 8 * growth.GiB}}},
		}})
		c.Settle()
		c.Sweeper().Once(t.Context())
		require.Equal(t, growth.GPU("n-b"), c.Reservations("n")["held-uid"].GPUs[0].GPU)
		c.Settle()
		require.Zero(t, c.Keeper.Snapshot().OverCommitted())
	})
}

func TestARefusedBindingIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		c.Mem.Fail(bus.ErrUnavailable)
		c.Bindings.Fail(apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("no right to bind")))
		require.ErrorIs(t, c.Decider(c.Keeper).Bind(t.Context(), clustertest.Ref(pod), "n"), scheduler.ErrRefused)
		require.Zero(t, c.Held.Len())
	})
}

func TestMemoryIsBounded(t *testing.T) {
	held := &reservations.Held{}
	hold := func(uid growth.PodUID) error {
		_, err := held.Hold("n", func(map[growth.PodUID]bus.Reservation) (bus.Reservation, error) {
			return bus.Reservation{Pod: growth.PodRef{UID: uid}}, nil
		})
		return err
	}
	for i := range reservations.MostHeld {
		require.NoError(t, hold(growth.PodUID(fmt.Sprint(i))))
	}
	require.ErrorIs(t, hold("one more"), reservations.ErrFull)
	require.NoError(t, hold("7"), "the same pod again")
	held.Drop("7", "elsewhere")
	require.ErrorIs(t, hold("one more"), reservations.ErrFull, "it is held on another node")
	held.Drop("7", "n")
	require.NoError(t, hold("one more"))
	require.Equal(t, "bus_away", scheduler.Outcome(hold("two more")))
}

// TestPodsOnDifferentGPUsDoNotMeet has two replicas that know nothing of one another's decisions reserve on one node.
func TestPodsOnDifferentGPUsDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8, 16)
		small, large := c.Create(clustertest.Pod("small", "8Gi", 8)), c.Create(clustertest.Pod("large", "16Gi", 16))
		c.Settle()
		before := lagging{c.Keeper.Snapshot()}
		for _, pod := range []*corev1.Pod{small, large} {
			d := c.Decider(c.Keeper)
			d.View, d.Conflicted = before, func() { t.Error("a conflict") }
			require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))
		}
		require.Len(t, c.Reservations("n"), 2)

		conflicts := 0
		third := c.Create(clustertest.Pod("third", "1Gi", 1))
		d := c.Decider(c.Keeper)
		d.View, d.Conflicted = before, func() { conflicts++ }
		require.ErrorIs(t, d.Bind(t.Context(), clustertest.Ref(third), "n"), scheduler.ErrNoRoom)
		require.Equal(t, 1, conflicts, "on the same GPU they do")
	})
}

// TestAReservationThatServedLeavesItsMark lets a replica decide on a snapshot from before a reservation that is gone again,
// and that its view of bound pods does not show yet.
func TestAReservationThatServedLeavesItsMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		first, second := c.Create(clustertest.Pod("first", "8Gi", 8)), c.Create(clustertest.Pod("second", "8Gi", 8))
		c.Settle()
		before := lagging{c.Keeper.Snapshot()}
		require.NoError(t, c.Decider(c.Keeper).Bind(t.Context(), clustertest.Ref(first), "n"))
		clustertest.Record(c, bus.AllocationKey("n", "first-uid"), bus.Allocation{Pod: clustertest.Ref(first), Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 8 * growth.GiB}}},
		}})
		c.Settle()
		c.Sweeper().Once(t.Context())
		require.Empty(t, c.Reservations("n"))
		d := c.Decider(c.Keeper)
		d.View = before
		require.ErrorIs(t, d.Bind(t.Context(), clustertest.Ref(second), "n"), scheduler.ErrNoRoom)
	})
}
