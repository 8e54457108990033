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

// mismatchedPod is the pod of these tests. Its Binding names n-a.
var mismatchedPod = growth.PodRef{Namespace: "default", Name: "p", UID: "p-uid"}

// steps change the pod and its allocation.
type steps []func(*clustertest.Cluster, *corev1.Pod)

func shareOf(g growth.GPU) []growth.GPUShare {
	return []growth.GPUShare{{GPU: g, Memory: 8 * growth.GiB}}
}

func allocate(g growth.GPU) func(*clustertest.Cluster, *corev1.Pod) {
	return func(c *clustertest.Cluster, _ *corev1.Pod) {
		clustertest.Record(c, bus.AllocationKey("n", mismatchedPod.UID), bus.Allocation{
			Pod:        mismatchedPod,
			Containers: []bus.ContainerAllocation{{Name: "c0", GPUs: shareOf(g)}},
		})
	}
}

func annotate(gpus string) func(*clustertest.Cluster, *corev1.Pod) {
	return func(c *clustertest.Cluster, pod *corev1.Pod) {
		pod = c.Get(pod).DeepCopy()
		pod.Annotations[gpushare.GPUAnnotation] = gpus
		if gpus == "" {
			delete(pod.Annotations, gpushare.GPUAnnotation)
		}
		c.Update(pod)
	}
}

func endPod(c *clustertest.Cluster, pod *corev1.Pod) {
	pod = c.Get(pod).DeepCopy()
	pod.Status.Phase = corev1.PodSucceeded
	c.Update(pod)
}

func deletePod(c *clustertest.Cluster, pod *corev1.Pod) { c.Delete(pod) }

// hidePod removes the request, so that the snapshot does not have the pod.
func hidePod(c *clustertest.Cluster, pod *corev1.Pod) {
	pod = c.Get(pod).DeepCopy()
	pod.Annotations, pod.Spec.Containers = nil, nil
	c.Update(pod)
}

func stopPlugin(c *clustertest.Cluster, _ *corev1.Pod) {
	require.NoError(c.T, c.Bus.Delete(c.T.Context(), bus.GPUsKey("n")))
}

func startPlugin(c *clustertest.Cluster, _ *corev1.Pod) {
	clustertest.Record(c, bus.GPUsKey("n"), bus.NodeGPUs{
		Unit: growth.GiB,
		GPUs: []bus.GPU{{UUID: "n-a", Memory: 8 * growth.GiB}, {UUID: "n-b", Memory: 8 * growth.GiB}},
	})
}

func TestReconcile_ReportsMismatchesOnce(t *testing.T) {
	const minute = 60
	for name, tc := range map[string]struct {
		reserved bool
		// steps are followed by a number of passes each.
		steps  steps
		passes int
		want   map[string]int
	}{
		"no allocation":                   {true, steps{}, 1, map[string]int{}},
		"as reserved":                     {true, steps{allocate("n-a")}, 3, map[string]int{}},
		"not as reserved":                 {true, steps{allocate("n-b")}, 3, map[string]int{"elsewhere": 1}},
		"not as reserved, then annotated": {true, steps{allocate("n-b"), annotate("n-b")}, 3, map[string]int{"elsewhere": 1}},
		"as in the Binding":               {false, steps{allocate("n-a")}, 3, map[string]int{}},
		"not as in the Binding":           {false, steps{allocate("n-b")}, 3, map[string]int{"elsewhere": 1}},
		"device plugin stops and starts":  {false, steps{allocate("n-b"), stopPlugin, startPlugin, stopPlugin}, 3, map[string]int{"elsewhere": 1}},
		"Binding of another scheduler":    {false, steps{annotate(""), allocate("n-b")}, 2 * minute, map[string]int{}},
		"pod deleted":                     {true, steps{allocate("n-a"), deletePod}, minute, map[string]int{"unknown": 1}},
		"pod deleted long ago":            {true, steps{allocate("n-a"), deletePod}, 3 * minute, map[string]int{"unknown": 1}},
		"pod deleted recently":            {true, steps{allocate("n-a"), deletePod}, minute - 1, map[string]int{}},
		"pod ended":                       {true, steps{allocate("n-a"), endPod}, minute, map[string]int{"unknown": 1}},
		"elsewhere, then pod deleted":     {true, steps{allocate("n-b"), deletePod}, minute, map[string]int{"elsewhere": 1, "unknown": 1}},
		"pod that the snapshot lacks":     {false, steps{allocate("n-a"), hidePod}, 3 * minute, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 8, 8)
				pod := clustertest.Pod("p", "8Gi", 8)
				pod.Spec.NodeName, pod.Annotations[gpushare.GPUAnnotation] = "n", "n-a"
				pod = c.Create(pod)
				if tc.reserved {
					clustertest.Record(c, bus.ReservationKey("n", mismatchedPod.UID), bus.Reservation{
						Pod:        mismatchedPod,
						GPUs:       shareOf("n-a"),
						Containers: []bus.ContainerRequest{{Name: "c0", Units: 8}},
					})
				}
				got := map[string]int{}
				s := c.Reconciler(nil)
				s.Mismatched = func(kind string) { got[kind]++ }
				for _, step := range tc.steps {
					step(c, pod)
					c.Settle()
					for range tc.passes {
						s.Reconcile(t.Context())
					}
					c.Settle()
				}
				require.Equal(t, tc.want, got)
			})
		})
	}
}
