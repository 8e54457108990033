package scheduler_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Both nodes have a GPU without a job. On one of them two jobs can use all of the four cores each.
func TestPrioritize_CountsTheCPUOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		for _, name := range []string{"busy", "idle"} {
			c.Node(name, 24, 24, 24)
			clustertest.Record(c, bus.LoadKey(growth.NodeName(name)), bus.NodeLoad{CPUCapacity: 4 * growth.Core})
		}
		first, second := c.Create(clustertest.Pod("first", "1Gi", 1)), c.Create(clustertest.Pod("second", "1Gi", 1))
		c.Settle()
		s := c.Scheduler(c.Cache)
		for _, running := range []*corev1.Pod{first, second} {
			require.NoError(t, s.Bind(t.Context(), clustertest.Ref(running), "busy"))
			c.Settle()
		}
		pod := c.Create(clustertest.Pod("new", "1Gi", 1))
		points := func(sample bus.Sample) []int8 {
			for _, running := range []*corev1.Pod{first, second} {
				sample.Pod, sample.Node, sample.Reported, sample.Growth = clustertest.Ref(running), "busy", true, 1
				clustertest.Record(c, bus.SampleKey(sample.Pod.UID), sample)
			}
			c.Settle()
			return s.Prioritize(pod, []string{"busy", "idle"}).Points
		}
		before := s.Prioritize(pod, []string{"busy", "idle"}).Points
		require.Equal(t, []int8{10, 10}, before, "nothing is known about the jobs")
		require.Equal(t, []int8{5, 10}, points(bus.Sample{CPUUsed: 2 * growth.Core, Usable: 4 * growth.Core}), "they have half of what they can use")
		divided := bus.Sample{CPUUsed: 2 * growth.Core, Usable: growth.Core, GPUTime: &bus.GPUTime{}}
		require.Equal(t, []int8{10, 10}, points(divided), "the node divides its GPUs: the CPU that they use is what they can use")
	})
}
