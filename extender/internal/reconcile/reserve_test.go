package reconcile_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestReconcile_CorrectsDrift(t *testing.T) {
	for name, tc := range map[string]struct {
		// There are two pods of 8 GiB and two GPUs of 8 GiB. allocated is the first pod's GPU.
		allocated growth.GPU
		// reserved is the second pod's GPU on the bus, annotated the GPU of its Binding.
		reserved, annotated growth.GPU
		passes              int
		kinds               map[string]int
		want                growth.GPU
	}{
		"kubelet followed the plan":        {"n-a", "n-b", "n-b", 1, map[string]int{}, "n-b"},
		"kubelet took the other pod's GPU": {"n-b", "n-b", "n-b", 1, map[string]int{"stray": 1, "overdrawn": 1}, "n-a"},
		"reservation lost":                 {"n-a", "", "n-b", 10, map[string]int{"unreserved": 1}, "n-b"},
		"reservation lost and GPU taken":   {"n-b", "", "n-b", 10, map[string]int{"stray": 1, "unreserved": 1}, "n-a"},
		"reservation lost recently":        {"n-a", "", "n-b", 9, map[string]int{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 8, 8)
				share := func(g growth.GPU) []growth.GPUShare { return []growth.GPUShare{{GPU: g, Memory: 8 * growth.GiB}} }
				for name, annotated := range map[string]growth.GPU{"first": "n-a", "second": tc.annotated} {
					pod := clustertest.Pod(name, "8Gi", 8)
					pod.Spec.NodeName, pod.Annotations[gpushare.GPUAnnotation] = "n", string(annotated)
					c.Create(pod)
				}
				reserve := func(name string, g growth.GPU) {
					r := bus.Reservation{GPUs: share(g), Containers: []bus.ContainerRequest{{Name: "c0", Units: 8}}}
					r.Pod = growth.PodRef{Namespace: "default", Name: name, UID: growth.PodUID(name + "-uid")}
					clustertest.Record(c, bus.ReservationKey("n", r.Pod.UID), r)
				}
				reserve("first", "n-a")
				if tc.reserved != "" {
					reserve("second", tc.reserved)
				}
				clustertest.Record(c, bus.AllocationKey("n", "first-uid"), bus.Allocation{Containers: []bus.ContainerAllocation{{Name: "c0", GPUs: share(tc.allocated)}}})
				c.Settle()
				kinds := map[string]int{}
				s := c.Reconciler(nil)
				s.Repaired = func(kind string) { kinds[kind]++ }
				for range tc.passes {
					s.Reconcile(t.Context())
					c.Settle()
				}
				require.Equal(t, tc.kinds, kinds)
				require.NotContains(t, c.Reservations("n"), growth.PodUID("first-uid"), "kubelet has allocated")
				if tc.want != "" {
					require.Equal(t, share(tc.want), c.Reservations("n")["second-uid"].GPUs)
					require.True(t, c.Cache.Snapshot().Node("n").Drift.Empty())
				}
				require.Zero(t, c.Cache.Snapshot().OverCommitted())
			})
		})
	}
}
