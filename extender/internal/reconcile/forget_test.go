package reconcile_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestForget_EpochsOfRemovedGPUs(t *testing.T) {
	const after = 5
	stop := func(c *clustertest.Cluster) { require.NoError(t, c.Bus.Delete(t.Context(), bus.GPUsKey("n"))) }
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
		passes, passes2 int
		want            []growth.GPU
	}{
		"no GPU removed":                  {nothing, nothing, 2 * after, 0, []growth.GPU{"n-a", "n-b"}},
		"node removed":                    {stop, nothing, after, 0, nil},
		"node removed recently":           {stop, nothing, after - 1, 0, []growth.GPU{"n-a", "n-b"}},
		"node back in between":            {stop, publish("n-a", "n-b"), after - 1, after - 1, []growth.GPU{"n-a", "n-b"}},
		"one GPU removed":                 {publish("n-b"), nothing, after, 0, []growth.GPU{"n-b"}},
		"GPU replaced":                    {publish("n-a", "n-c"), nothing, after, 0, []growth.GPU{"n-a"}},
		"one GPU removed, then the other": {publish("n-b"), publish("n-c"), after, after, nil},
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
				pass := func(n int) {
					c.Settle()
					for range n {
						s.Reconcile(t.Context())
					}
					c.Settle()
				}
				tc.first(c)
				pass(tc.passes)
				tc.then(c)
				pass(tc.passes2)
				require.Equal(t, tc.want, epochs(t, c))
			})
		})
	}
}

// epochs returns the GPUs of node n with an epoch.
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
