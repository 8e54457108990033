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

// TestAllocationsThatNobodyMeantAreTold is about one pod, which its Binding sent to n-a, and what kubelet made of it.
func TestAllocationsThatNobodyMeantAreTold(t *testing.T) {
	const minute = 60
	share := func(g growth.GPU) []growth.GPUShare { return []growth.GPUShare{{GPU: g, Memory: 8 * growth.GiB}} }
	ref := growth.PodRef{Namespace: "default", Name: "p", UID: "p-uid"}
	reserve := func(c *clustertest.Cluster) {
		clustertest.Record(c, bus.ReservationKey("n", ref.UID), bus.Reservation{Pod: ref, GPUs: share("n-a"), Containers: []bus.ContainerRequest{{Name: "c0", Units: 8}}})
	}
	allocate := func(g growth.GPU) func(*clustertest.Cluster, *corev1.Pod) {
		return func(c *clustertest.Cluster, _ *corev1.Pod) {
			clustertest.Record(c, bus.AllocationKey("n", ref.UID), bus.Allocation{Pod: ref, Containers: []bus.ContainerAllocation{{Name: "c0", GPUs: share(g)}}})
		}
	}
	annotate := func(gpus string) func(*clustertest.Cluster, *corev1.Pod) {
		return func(c *clustertest.Cluster, pod *corev1.Pod) {
			pod = c.Get(pod).DeepCopy()
			if pod.Annotations[gpushare.GPUAnnotation] = gpus; gpus == "" {
				delete(pod.Annotations, gpushare.GPUAnnotation)
			}
			c.Update(pod)
		}
	}
	ends := func(c *clustertest.Cluster, pod *corev1.Pod) {
		pod = c.Get(pod).DeepCopy()
		pod.Status.Phase = corev1.PodSucceeded
		c.Update(pod)
	}
	leaves := func(c *clustertest.Cluster, pod *corev1.Pod) { c.Delete(pod) }
	hides := func(c *clustertest.Cluster, pod *corev1.Pod) {
		pod = c.Get(pod).DeepCopy()
		pod.Annotations, pod.Spec.Containers = nil, nil
		c.Update(pod)
	}
	dies := func(c *clustertest.Cluster, _ *corev1.Pod) {
		require.NoError(t, c.Bus.Delete(t.Context(), bus.GPUsKey("n")))
	}
	returns := func(c *clustertest.Cluster, _ *corev1.Pod) {
		clustertest.Record(c, bus.GPUsKey("n"), bus.NodeGPUs{Unit: growth.GiB, GPUs: []bus.GPU{{UUID: "n-a", Memory: 8 * growth.GiB}, {UUID: "n-b", Memory: 8 * growth.GiB}}})
	}
	type steps []func(*clustertest.Cluster, *corev1.Pod)
	for name, tc := range map[string]struct {
		reserved bool
		// happens are steps with sweeps after each.
		happens steps
		sweeps  int
		told    map[string]int
	}{
		"nothing is allocated yet":                 {true, steps{}, 1, map[string]int{}},
		"as reserved":                              {true, steps{allocate("n-a")}, 3, map[string]int{}},
		"not as reserved":                          {true, steps{allocate("n-b")}, 3, map[string]int{"elsewhere": 1}},
		"not as reserved, and then corrected":      {true, steps{allocate("n-b"), annotate("n-b")}, 3, map[string]int{"elsewhere": 1}},
		"as its Binding named":                     {false, steps{allocate("n-a")}, 3, map[string]int{}},
		"not as its Binding named":                 {false, steps{allocate("n-b")}, 3, map[string]int{"elsewhere": 1}},
		"while its device plugin comes and goes":   {false, steps{allocate("n-b"), dies, returns, dies}, 3, map[string]int{"elsewhere": 1}},
		"its Binding, somebody else's, names none": {false, steps{annotate(""), allocate("n-b")}, 2 * minute, map[string]int{}},
		"its pod is gone":                          {true, steps{allocate("n-a"), leaves}, minute, map[string]int{"unknown": 1}},
		"its pod is gone for good":                 {true, steps{allocate("n-a"), leaves}, 3 * minute, map[string]int{"unknown": 1}},
		"its pod has not been gone for a minute":   {true, steps{allocate("n-a"), leaves}, minute - 1, map[string]int{}},
		"its pod has ended":                        {true, steps{allocate("n-a"), ends}, minute, map[string]int{"unknown": 1}},
		"it was elsewhere, and its pod is gone":    {true, steps{allocate("n-b"), leaves}, minute, map[string]int{"elsewhere": 1, "unknown": 1}},
		"a pod that only the API server shows":     {false, steps{allocate("n-a"), hides}, 3 * minute, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 8, 8)
				pod := clustertest.Pod("p", "8Gi", 8)
				pod.Spec.NodeName, pod.Annotations[gpushare.GPUAnnotation] = "n", "n-a"
				pod = c.Create(pod)
				if tc.reserved {
					reserve(c)
				}
				told := map[string]int{}
				s := c.Reconciler(nil)
				s.Mismatched = func(kind string) { told[kind]++ }
				for _, happens := range tc.happens {
					happens(c, pod)
					c.Settle()
					for range tc.sweeps {
						s.Reconcile(t.Context())
					}
					c.Settle()
				}
				require.Equal(t, tc.told, told)
			})
		})
	}
}
