package reconcile_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestGPUsThatAreGoneAreForgotten(t *testing.T) {
	const after = 5
	dies := func(c *clustertest.Cluster) { require.NoError(t, c.Bus.Delete(t.Context(), bus.GPUsKey("n"))) }
	publish := func(gpus ...growth.GPU) func(*clustertest.Cluster) {
		return func(c *clustertest.Cluster) {
			inventory := bus.NodeGPUs{Unit: growth.GiB}
			for _, g := range gpus {
				inventory.GPUs = append(inventory.GPUs, bus.GPU{UUID: g, Memory: 8 * growth.GiB, Healthy: true})
			}
			clustertest.Record(c, bus.GPUsKey("n"), inventory)
		}
	}
	nothing := func(*clustertest.Cluster) {}
	for name, tc := range map[string]struct {
		first, then     func(*clustertest.Cluster)
		sweeps, sweeps2 int
		want            []growth.GPU
	}{
		"all are there":                    {nothing, nothing, 2 * after, 0, []growth.GPU{"n-a", "n-b"}},
		"the node is gone":                 {dies, nothing, after, 0, nil},
		"it has not been gone for long":    {dies, nothing, after - 1, 0, []growth.GPU{"n-a", "n-b"}},
		"it was back in between":           {dies, publish("n-a", "n-b"), after - 1, after - 1, []growth.GPU{"n-a", "n-b"}},
		"one GPU is gone":                  {publish("n-b"), nothing, after, 0, []growth.GPU{"n-b"}},
		"a GPU is in another one's place":  {publish("n-a", "n-c"), nothing, after, 0, []growth.GPU{"n-a"}},
		"one is gone, the other one later": {publish("n-b"), publish("n-c"), after, after, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("n", 8, 8)
				for _, pod := range []string{"p", "q"} {
					bound := c.Create(clustertest.Pod(pod, "8Gi", 8))
					c.Settle()
					require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(bound), "n"))
					c.Settle()
				}
				s := c.Reconciler(nil)
				s.ForgetAfter = after
				sweeps := func(n int) {
					c.Settle()
					for range n {
						s.Reconcile(t.Context())
					}
					c.Settle()
				}
				tc.first(c)
				sweeps(tc.sweeps)
				tc.then(c)
				sweeps(tc.sweeps2)
				require.Equal(t, tc.want, epochs(t, c))
			})
		})
	}
}

// epochs lists the GPUs of node n that have one.
func epochs(t *testing.T, c *clustertest.Cluster) []growth.GPU {
	entries, _, err := c.Bus.List(t.Context(), bus.NodePrefix("n"))
	require.NoError(t, err)
	var gpus []growth.GPU
	for _, e := range entries {
		if key, err := bus.ParseKey(e.Key); err == nil && key.Kind == bus.KindEpoch {
			gpus = append(gpus, key.GPU)
		}
	}
	return gpus
}
