package scheduler_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Both nodes have a GPU without a job. On one of them a job can use six cores of four.
func TestPrioritize_CountsTheCPUOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		for _, name := range []string{"busy", "idle"} {
			c.Node(name, 24, 24)
			clustertest.Record(c, bus.LoadKey(growth.NodeName(name)), bus.NodeLoad{CPUCapacity: 4 * growth.Core})
		}
		running := c.Create(clustertest.Pod("running", "1Gi", 1))
		c.Settle()
		s := c.Scheduler(c.Cache)
		require.NoError(t, s.Bind(t.Context(), clustertest.Ref(running), "busy"))
		c.Settle()
		pod := c.Create(clustertest.Pod("new", "1Gi", 1))
		points := func() []int8 { return s.Prioritize(pod, []string{"busy", "idle"}).Points }
		require.Equal(t, []int8{10, 10}, points(), "nothing is known about the job")

		sample := bus.Sample{Pod: clustertest.Ref(running), Node: "busy", Reported: true, Growth: 1, CPUUsed: 4 * growth.Core, Usable: 6 * growth.Core}
		clustertest.Record(c, bus.SampleKey(sample.Pod.UID), sample)
		c.Settle()
		require.Equal(t, []int8{7, 10}, points(), "a job there has two thirds of the CPU that it can use")

		sample.GPUTime = &bus.GPUTime{}
		clustertest.Record(c, bus.SampleKey(sample.Pod.UID), sample)
		c.Settle()
		require.Equal(t, []int8{10, 10}, points(), "the node divides its GPUs: the CPU that the job uses is all that it can use")
	})
}
