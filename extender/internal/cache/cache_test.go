package cache_test

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestCache_KeepsSnapshotWhileBusIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		c.Settle()
		c.Mem.Fail(bus.ErrUnavailable)
		c.Settle()
		s := c.Cache.Snapshot()
		require.True(t, s.Synced)
		require.ErrorIs(t, s.Unavailable, bus.ErrUnavailable)
		require.False(t, s.Since.IsZero())
		require.Len(t, s.Node("n").GPUs, 1)
		found, err := c.Scheduler(c.Cache).Filter(clustertest.Pod("p", "1Gi", 1), []string{"n"})
		require.NoError(t, err)
		require.Equal(t, []string{"n"}, found.Fit())

		c.Mem.Fail(nil)
		c.Node("m", 24)
		c.Settle()
		require.NoError(t, c.Cache.Snapshot().Unavailable)
		require.Equal(t, 2, c.Cache.Snapshot().Nodes.Len())
	})
}

func TestCache_IgnoresUnreadableRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		for _, key := range []string{
			bus.AllocationKey("n", "a"), bus.ReservationKey("n", "b"), bus.SampleKey("c"), bus.LoadKey("n"), bus.AdviceKey("c"),
		} {
			c.Put(key, []byte(`{"v":9,"gpus":true}`))
		}
		c.Put(bus.Nodes+"n/of/another/schema", []byte("?"))
		c.Put(bus.GPUsKey("m"), []byte(`{"v":1,"unitMiB":1024,"gpus":[{"uuid":"GPU-m","memoryMiB":-5}]}`))
		c.Settle()
		s := c.Cache.Snapshot()
		require.Equal(t, 5, s.Refused, "allocation, reservation, sample, load and inventory; advice is not read")
		require.Equal(t, 24*growth.GiB, s.Node("n").GPUs[0].Free())
		require.Contains(t, s.Node("m").Unschedulable, "cannot be understood")

		require.NoError(t, c.Bus.Delete(t.Context(), bus.SampleKey("c")))
		clustertest.Record(c, bus.AllocationKey("n", "a"), bus.Allocation{Containers: []bus.ContainerAllocation{
			{Name: "c", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: growth.GiB}}},
		}})
		c.Settle()
		require.Equal(t, 3, c.Cache.Snapshot().Refused)
		require.Equal(t, 23*growth.GiB, c.Cache.Snapshot().Node("n").GPUs[0].Free())
	})
}

func TestSnapshot_IsImmutable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		pod := c.Create(clustertest.Pod("p", "8Gi", 8))
		c.Settle()
		before := c.Cache.Snapshot()
		require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
		clustertest.Record(c, bus.SampleKey("p-uid"), bus.Sample{Node: "n", Reported: true, Growth: 0.5})
		c.Node("m", 8)
		c.Settle()
		require.Equal(t, 1, before.Nodes.Len())
		_, reported := before.Sample("p-uid")
		require.False(t, reported)
		require.Empty(t, before.Node("n").Reservations)
		unbound, _ := before.Pods.Get("p-uid")
		require.Empty(t, unbound.Node)
		require.Equal(t, 24*growth.GiB, before.Node("n").GPUs[0].Free())
		after := c.Cache.Snapshot()
		require.Equal(t, 16*growth.GiB, after.Node("n").GPUs[0].Free())
		require.Equal(t, growth.Growth(0.5), after.Node("n").GPUs[0].Residents[0].Growth)

		c.Delete(pod)
		clustertest.Record(c, bus.AllocationKey("n", "q-uid"), bus.Allocation{Pod: growth.PodRef{UID: "q-uid"}})
		require.NoError(t, c.Bus.Delete(t.Context(), bus.ReservationKey("n", "p-uid")))
		c.Settle()
		require.Contains(t, after.Node("n").Reservations, growth.PodUID("p-uid"))
		require.Contains(t, after.Node("n").Bound, growth.PodUID("p-uid"))
		require.Empty(t, after.Node("n").Allocations)
		last := c.Cache.Snapshot().Node("n")
		require.Empty(t, last.Reservations)
		require.Empty(t, last.Bound)
		require.Len(t, last.Allocations, 1)
	})
}

// TestNodeInfo_ExpectedIgnoresEndedPods ends a pod. The device plugin removes its record after the API server reports the end.
// In between Filter accepts a waiting pod, and Bind uses the records.
func TestNodeInfo_ExpectedIgnoresEndedPods(t *testing.T) {
	for name, ends := range map[string]func(*clustertest.Cluster, *corev1.Pod){
		"succeeded": func(c *clustertest.Cluster, pod *corev1.Pod) {
			pod = c.Get(pod).DeepCopy()
			pod.Status.Phase = corev1.PodSucceeded
			c.Update(pod)
		},
		"deleted": func(c *clustertest.Cluster, pod *corev1.Pod) { c.Delete(pod) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 24)
				old, waiting := c.Create(clustertest.Pod("old", "20Gi", 20)), c.Create(clustertest.Pod("waiting", "20Gi", 20))
				c.Settle()
				s := c.Scheduler(c.Cache)
				require.NoError(t, s.Bind(t.Context(), clustertest.Ref(old), "n"))
				clustertest.Record(c, bus.AllocationKey("n", "old-uid"), bus.Allocation{Pod: clustertest.Ref(old), Containers: []bus.ContainerAllocation{
					{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 20 * growth.GiB}}},
				}})
				c.Settle()
				room := func() []string {
					found, err := s.Filter(waiting, []string{"n"})
					require.NoError(t, err)
					return found.Fit()
				}
				require.Empty(t, room())
				ends(c, old)
				c.Settle()
				require.Equal(t, []string{"n"}, room())
				require.ErrorIs(t, s.Bind(t.Context(), clustertest.Ref(waiting), "n"), scheduler.ErrNoRoom, "kubelet may not have freed its devices yet")

				require.NoError(t, c.Bus.Delete(t.Context(), bus.AllocationKey("n", "old-uid")))
				require.NoError(t, c.Bus.Delete(t.Context(), bus.ReservationKey("n", "old-uid")))
				c.Settle()
				require.NoError(t, s.Bind(t.Context(), clustertest.Ref(waiting), "n"))
				require.Zero(t, c.Cache.Snapshot().OverCommitted())
			})
		})
	}
}

func TestCache_RemovesDeletedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		c.Settle()
		require.NoError(t, c.Client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}))
		c.Settle()
		require.NotNil(t, c.Cache.Snapshot().Node("n"), "its device plugin still runs")
		require.NoError(t, c.Bus.Delete(t.Context(), bus.GPUsKey("n")))
		c.Settle()
		require.Zero(t, c.Cache.Snapshot().Nodes.Len())
	})
}

func TestNodeInfo_NeedsLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.NodeWithLabels("n", nil)
		c.Settle()
		require.Equal(t, "the node shares no GPUs: label gpushare=true is missing", c.Cache.Snapshot().Node("n").Unschedulable)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{gpushare.NodeLabel: "true"}}}
		_, err := c.Client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
		require.NoError(t, err)
		c.Settle()
		require.Equal(t, "no live device plugin on the node", c.Cache.Snapshot().Node("n").Unschedulable)
	})
}

// TestCache_PublishesCompleteListsOnly receives new lists of nodes in parts, and an error in between.
func TestCache_PublishesCompleteListsOnly(t *testing.T) {
	inventory := func(node growth.NodeName) bus.Entry {
		value, err := bus.Encode(bus.NodeGPUs{Unit: growth.GiB, GPUs: []bus.GPU{{UUID: "GPU-" + growth.GPU(node), Memory: growth.GiB, Healthy: true}}})
		require.NoError(t, err)
		return bus.Entry{Key: bus.GPUsKey(node), Value: value}
	}
	nodes := cache.New(nil, gpushare.Resource, slog.New(slog.DiscardHandler))
	shown := func(batch bus.Batch) []growth.NodeName {
		nodes.Step(cache.OnNodes(batch))
		var names []growth.NodeName
		for name := range nodes.Snapshot().Nodes.All() {
			names = append(names, name)
		}
		return names
	}
	nodes.Step(cache.OnJobs(bus.Batch{Reset: true}))
	nodes.Step(cache.Informed())
	require.Empty(t, shown(bus.Batch{Reset: true, More: true, Revision: 3, Entries: []bus.Entry{inventory("a")}}))
	require.False(t, nodes.Snapshot().Synced)
	require.Equal(t, []growth.NodeName{"a", "b"}, shown(bus.Batch{Revision: 3, Entries: []bus.Entry{inventory("b")}}))
	require.True(t, nodes.Snapshot().Synced)

	require.Equal(t, []growth.NodeName{"a", "b"}, shown(bus.Batch{Reset: true, More: true, Revision: 9, Entries: []bus.Entry{inventory("c")}}))
	require.Equal(t, []growth.NodeName{"a", "b"}, shown(bus.Batch{Err: bus.ErrUnavailable}), "the list is incomplete")
	require.ErrorIs(t, nodes.Snapshot().Unavailable, bus.ErrUnavailable)
	require.Equal(t, bus.Revision(3), nodes.Snapshot().Revision)
	require.Equal(t, []growth.NodeName{"a", "b"}, shown(bus.Batch{Reset: true, More: true, Revision: 12, Entries: []bus.Entry{inventory("c")}}))
	require.Equal(t, []growth.NodeName{"c", "d"}, shown(bus.Batch{Revision: 12, Entries: []bus.Entry{inventory("d")}}))
	require.NoError(t, nodes.Snapshot().Unavailable)
	require.Equal(t, bus.Revision(12), nodes.Snapshot().Revision)
}

func TestNodeInfo_UnschedulableWithoutKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		clustertest.Record(c, bus.AllocationKey("n", "p"), bus.Allocation{Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 8 * growth.GiB}}},
		}})
		c.Settle()
		before := c.Cache.Snapshot().Node("n")
		require.Empty(t, before.Unschedulable)

		inventory := before.Inventory()
		inventory.Unheard = true
		clustertest.Record(c, bus.GPUsKey("n"), inventory)
		c.Settle()
		now := c.Cache.Snapshot().Node("n")
		require.Contains(t, now.Unschedulable, "kubelet does not listen to its device plugin")
		require.Equal(t, before.GPUs, now.GPUs, "running pods still count")

		inventory.Unheard = false
		clustertest.Record(c, bus.GPUsKey("n"), inventory)
		c.Settle()
		require.Empty(t, c.Cache.Snapshot().Node("n").Unschedulable)
	})
}
