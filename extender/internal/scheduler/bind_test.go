package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

func TestBind_ReservesAndPostsOneBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24, 24)
		pod := clustertest.Pod("p", "12Gi", 10, 2)
		pod.Annotations[gpushare.CountAnnotation] = "1"
		pod = c.Create(pod)
		c.Settle()

		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
		posted := c.Bindings.Posted()
		require.Len(t, posted, 1)
		require.Equal(t, pod.UID, posted[0].UID)
		require.Equal(t, pod.ResourceVersion, posted[0].ResourceVersion)
		require.Equal(t, map[string]string{gpushare.GPUAnnotation: "n-a"}, posted[0].Annotations)
		require.Equal(t, corev1.ObjectReference{Kind: "Node", Name: "n"}, posted[0].Target)
		require.Equal(t, bus.Reservation{
			Header: bus.Header{Version: bus.Version}, Pod: clustertest.Ref(pod), Created: pod.CreationTimestamp.Time,
			GPUs:       []growth.GPUShare{{GPU: "n-a", Memory: 12 * growth.GiB}},
			Containers: []bus.ContainerRequest{{Name: "c0", Units: 10}, {Name: "c1", Units: 2}},
		}, c.Reservations("n")[growth.PodUID(pod.UID)])

		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"), "repeated at once")
		c.Settle()
		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"), "repeated later")
		require.Len(t, c.Reservations("n"), 1)
		require.Equal(t, "n", c.Get(pod).Spec.NodeName)
		require.ErrorIs(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "elsewhere"), scheduler.ErrBoundElsewhere)
		c.Mem.Advance(reservations.Lifetime)
		require.Empty(t, c.Reservations("n"), "the reservation expires")
	})
}

// A pod that continues a job is not bound before the old pod of the job has ended, also if Filter did not know it.
func TestBind_ConfirmsThatAPodMayRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		pod := c.Create(clustertest.Pod("p", "12Gi", 12))
		c.Settle()
		s := c.Scheduler(c.Cache)
		place := move.Place{Wait: true}
		s.Confirm = func(context.Context, growth.PodRef) (move.Place, error) { return place, nil }
		require.ErrorContains(t, s.Bind(t.Context(), clustertest.Ref(pod), "n"), "one that has not ended yet")
		place = move.Place{Only: "m"}
		require.ErrorContains(t, s.Bind(t.Context(), clustertest.Ref(pod), "n"), "the job moves to node m")
		require.Empty(t, c.Reservations("n"))
		place = move.Place{Only: "n"}
		require.NoError(t, s.Bind(t.Context(), clustertest.Ref(pod), "n"))
	})
}

func TestBind_SeveralGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24, 24, 24)
		pod := clustertest.Pod("p", "8Gi", 16)
		pod.Annotations[gpushare.CountAnnotation] = "2"
		pod = c.Create(pod)
		c.Settle()
		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
		require.Equal(t, "n-a,n-b", c.Get(pod).Annotations[gpushare.GPUAnnotation])
		require.Equal(t, []growth.GPUShare{{GPU: "n-a", Memory: 8 * growth.GiB}, {GPU: "n-b", Memory: 8 * growth.GiB}},
			c.Reservations("n")[growth.PodUID(pod.UID)].GPUs)
	})
}

// TestBind_OneOfManyGetsTheLastGiB runs eight binds of two replicas at once on a node with room for one.
func TestBind_OneOfManyGetsTheLastGiB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		clustertest.Record(c, bus.AllocationKey("n", "old"), bus.Allocation{Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 23 * growth.GiB}}},
		}})
		replicas := []*scheduler.Scheduler{c.Scheduler(c.Cache), c.Scheduler(c.Replica())}
		var pods []*corev1.Pod
		for i := range 8 {
			pods = append(pods, c.Create(clustertest.Pod(fmt.Sprintf("p%d", i), "1Gi", 1)))
		}
		c.Settle()

		results := make([]error, len(pods))
		var all sync.WaitGroup
		for i, pod := range pods {
			all.Go(func() { results[i] = replicas[i%2].Bind(t.Context(), clustertest.Ref(pod), "n") })
		}
		all.Wait()
		winners := 0
		for i, err := range results {
			if err == nil {
				winners++
				require.Equal(t, "n", c.Get(pods[i]).Spec.NodeName)
				continue
			}
			require.ErrorIs(t, err, scheduler.ErrNoRoom)
			require.ErrorContains(t, err, "GPU memory: 1GiB asked, largest free share 0MiB on gpu-0")
			require.Empty(t, c.Get(pods[i]).Spec.NodeName)
		}
		require.Equal(t, 1, winners)
		require.Len(t, c.Reservations("n"), 1)
		require.Len(t, c.Bindings.Posted(), 1)
		c.Settle()
		require.Zero(t, c.Cache.Snapshot().OverCommitted())
	})
}

// TestBind_ConcurrentBindsAllFit runs as many binds at once as there are slots.
func TestBind_ConcurrentBindsAllFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8, 8)
		c.Settle()
		d := c.Scheduler(c.Cache)
		results := make([]error, 16)
		var all sync.WaitGroup
		for i := range results {
			pod := c.Create(clustertest.Pod(fmt.Sprintf("p%d", i), "1Gi", 1))
			all.Go(func() { results[i] = d.Bind(t.Context(), clustertest.Ref(pod), "n") })
		}
		all.Wait()
		require.NoError(t, errors.Join(results...))
		c.Settle()
		node := c.Cache.Snapshot().Node("n")
		require.Zero(t, node.GPUs[0].Free())
		require.Zero(t, node.GPUs[1].Free())
	})
}

func TestBind_Errors(t *testing.T) {
	for name, tc := range map[string]struct {
		arrange func(*clustertest.Cluster, *corev1.Pod)
		ref     func(growth.PodRef) growth.PodRef
		is      error
		says    string
		// stays is whether the reservation is kept.
		stays bool
	}{
		"pod deleted": {
			arrange: func(c *clustertest.Cluster, pod *corev1.Pod) { c.Delete(pod); c.Settle() },
			is:      scheduler.ErrPodGone, says: "pod default/p with UID p-uid: the pod is gone",
		},
		"another pod of the same name": {
			arrange: func(*clustertest.Cluster, *corev1.Pod) {},
			ref: func(ref growth.PodRef) growth.PodRef {
				ref.UID = "an-earlier-one"
				return ref
			},
			is: scheduler.ErrPodGone, says: "the pod is gone",
		},
		"Binding refused": {
			arrange: func(c *clustertest.Cluster, _ *corev1.Pod) {
				c.Bindings.Fail(apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("no right to bind")))
			},
			is: scheduler.ErrBindingRefused, says: "no right to bind",
		},
		"result of the Binding unknown": {
			arrange: func(c *clustertest.Cluster, _ *corev1.Pod) { c.Bindings.Fail(errors.New("connection reset by peer")) },
			is:      scheduler.ErrBindingRefused, says: "connection reset by peer", stays: true,
		},
		"timeout of the server": {
			arrange: func(c *clustertest.Cluster, _ *corev1.Pod) {
				c.Bindings.Fail(apierrors.NewServerTimeout(corev1.Resource("pods"), "create", 1))
			},
			is: scheduler.ErrBindingRefused, stays: true,
		},
		"device plugin stopped": {
			arrange: func(c *clustertest.Cluster, _ *corev1.Pod) {
				require.NoError(c.T, c.Bus.Delete(c.T.Context(), bus.GPUsKey("n")))
				c.Settle()
			},
			is: scheduler.ErrNoRoom, says: "no live device plugin",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 24)
				pod := c.Create(clustertest.Pod("p", "8Gi", 8))
				c.Settle()
				tc.arrange(c, pod)
				ref := clustertest.Ref(pod)
				if tc.ref != nil {
					ref = tc.ref(ref)
				}
				err := c.Scheduler(c.Cache).Bind(t.Context(), ref, "n")
				require.ErrorIs(t, err, tc.is)
				require.ErrorContains(t, err, tc.says)
				c.Mem.Fail(nil)
				require.Equal(t, tc.stays, len(c.Reservations("n")) == 1)
			})
		})
	}
}

func TestBind_PodUpdatedInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		d := c.Scheduler(c.Cache)
		d.Cache = lagging{c.Cache.Snapshot()}
		c.Update(c.Get(pod))
		require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))
		require.Len(t, c.Bindings.Posted(), 2)
		require.Equal(t, "n", c.Get(pod).Spec.NodeName)
	})
}

// lagging is a cache that receives nothing any more.
type lagging struct{ snapshot *cache.Snapshot }

func (l lagging) Snapshot() *cache.Snapshot { return l.snapshot }

func TestBind_RetryKeepsReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 8)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		c.Bindings.Fail(errors.New("connection reset by peer"))
		require.Error(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
		c.Settle()
		found, err := c.Scheduler(c.Cache).Filter(pod, []string{"n"})
		require.NoError(t, err)
		require.Equal(t, []string{"n"}, found.Fit(), "the pod's own reservation does not count")

		c.Bindings.Fail(nil)
		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
		require.Equal(t, types.UID("p-uid"), c.Get(pod).UID)
		require.Len(t, c.Reservations("n"), 1)
	})
}

func TestBind_CountsPodsWithOnlyAnAnnotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		bound := clustertest.Pod("old", "20Gi", 20)
		bound.Spec.NodeName, bound.Annotations[gpushare.GPUAnnotation] = "n", "n-a"
		c.Create(bound)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		require.ErrorIs(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"), scheduler.ErrNoRoom)

		bound.Status.Phase = corev1.PodSucceeded
		c.Update(bound)
		c.Settle()
		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
	})
}
