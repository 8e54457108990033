package scheduler_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Two nodes have one job each, of different kinds. A new pod gets along with one of them only, and the model knows it.
func TestPrioritize_UsesTheLearnedModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		pods := map[string]*corev1.Pod{}
		for _, name := range []string{"gentle", "rough", "new"} {
			pod := clustertest.Pod(name, "8Gi", 8)
			pod.Spec.Containers[0].Image = name
			pods[name] = c.Create(pod)
		}
		for _, name := range []string{"gentle", "rough"} {
			c.Node("n-"+name, 24)
			clustertest.Record(c, bus.ReservationKey(growth.NodeName("n-"+name), growth.PodUID(pods[name].UID)), bus.Reservation{
				Pod:  clustertest.Ref(pods[name]),
				GPUs: []growth.GPUShare{{GPU: growth.GPU("n-" + name + "-a"), Memory: 8 * growth.GiB}},
			})
		}
		learned := func(gentle, rough float64) {
			learner := interference.NewLearner(interference.Prior())
			for name, speed := range map[string]float64{"gentle": gentle, "rough": rough} {
				require.NoError(t, learner.Observe(interference.Measurement{Seconds: 600, Set: []interference.Member{
					{Kind: jobkind.Of(pods[name]), Speed: speed}, {Kind: jobkind.Of(pods["new"]), Speed: speed},
				}}))
			}
			clustertest.Record(c, bus.ModelKey(bus.InterferenceModel), bus.Interference{Learned: learner.State()})
			c.Settle()
		}
		d, nodes := c.Scheduler(c.Cache), []string{"n-gentle", "n-rough"}
		points := func() []int8 {
			_, err := d.Filter(pods["new"], nodes)
			require.NoError(t, err)
			return d.Prioritize(pods["new"], nodes).Points
		}
		c.Settle()
		require.Equal(t, []int8{10, 10}, points(), "the prior knows no kinds")

		learned(0.95, 0.5)
		best := points()
		require.Equal(t, int8(10), best[0])
		require.Less(t, best[1], int8(8))
		e, _ := d.Explain("default", "new")
		jobs := e.Nodes[0].GPUs[0].Jobs
		require.Equal(t, []string{"default/new", "default/gentle"}, []string{jobs[0].Pod, jobs[1].Pod})
		require.Equal(t, interference.FromMeasurement, jobs[0].Source)
		require.InDelta(t, 1.1, float64(jobs[0].After), 0.1, "1.05 was measured, the prior is 1.31")

		learned(0.5, 0.95)
		require.Equal(t, int8(10), points()[1], "a new model takes effect at once")
		e, _ = d.Explain("default", "new")
		require.Equal(t, "n-rough", e.Nodes[0].Node)

		c.Put(bus.ModelKey(bus.InterferenceModel), []byte(`{"v":9}`))
		c.Settle()
		require.Equal(t, []int8{10, 10}, points(), "an unknown version is the prior")
		learned(0.5, 0.95)
		require.NoError(t, c.Bus.Delete(t.Context(), bus.ModelKey(bus.InterferenceModel)))
		c.Settle()
		require.Equal(t, []int8{10, 10}, points())
		require.Nil(t, c.Cache.Snapshot().Learned)
	})
}
