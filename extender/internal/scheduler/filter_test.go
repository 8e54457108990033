package scheduler_test

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestFilter(t *testing.T) {
	invalid := clustertest.Pod("p", "much", 8)
	ordinary := clustertest.Pod("p", "8Gi")
	ordinary.Annotations = nil
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		fit  []string
		full map[string]string
		// unresolvable maps a node to a part of its reason.
		unresolvable map[string]string
	}{
		"nodes with GPUs have room, the others a reason": {
			pod: clustertest.Pod("p", "8Gi", 8), fit: []string{"large", "busy"},
			unresolvable: map[string]string{
				"small": "GPU memory: 8GiB asked, the largest GPU has 4GiB", "plain": "label gpushare=true is missing",
				"silent": "no live device plugin", "newer": "unknown record version 9", "unknown": "nothing is known",
			},
		},
		"one node is full": {
			pod: clustertest.Pod("p", "20Gi", 20), fit: []string{"large"},
			full: map[string]string{"busy": "GPU memory: 20GiB asked, largest free share 12GiB on gpu-0"},
			unresolvable: map[string]string{
				"small": "the largest GPU has 4GiB", "plain": "label", "silent": "plugin", "newer": "version", "unknown": "nothing",
			},
		},
		"larger than any GPU": {
			pod: clustertest.Pod("p", "80Gi", 80), fit: []string{},
			unresolvable: map[string]string{
				"large": "GPU memory: 80GiB asked, the largest GPU has 24GiB", "busy": "24GiB", "small": "4GiB",
				"plain": "label", "silent": "plugin", "newer": "version", "unknown": "nothing",
			},
		},
		"invalid annotation": {
			pod: invalid, fit: []string{},
			unresolvable: map[string]string{
				"large": `annotation gpushare/gpu-mem: "much" is not an amount of GPU memory`, "busy": "much", "small": "much",
				"plain": "much", "silent": "much", "newer": "much", "unknown": "much",
			},
		},
		"pod without a request": {
			pod: ordinary, fit: []string{"large", "busy", "small", "plain", "silent", "newer", "unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.New(t)
				c.Node("large", 24)
				c.Node("busy", 24)
				c.Node("small", 4)
				c.NodeWithLabels("plain", nil)
				c.NodeWithLabels("silent", map[string]string{gpushare.NodeLabel: "true"})
				c.Put(bus.GPUsKey("newer"), []byte(`{"v":9,"gpus":"of another kind"}`))
				clustertest.Record(c, bus.ReservationKey("busy", "other"), bus.Reservation{GPUs: []growth.GPUShare{{GPU: "busy-a", Memory: 12 * growth.GiB}}})
				c.Settle()

				found, err := c.Scheduler(c.Cache).Filter(tc.pod, []string{"large", "busy", "small", "plain", "silent", "newer", "unknown"})
				require.NoError(t, err)
				require.Equal(t, tc.fit, found.Fit())
				full, unresolvable := found.Failed(false), found.Failed(true)
				require.Len(t, full, len(tc.full))
				for node, reason := range full {
					require.Equal(t, tc.full[node], reason)
				}
				require.Len(t, unresolvable, len(tc.unresolvable))
				for node, reason := range unresolvable {
					require.Contains(t, tc.unresolvable, node)
					require.Contains(t, reason, tc.unresolvable[node])
				}
			})
		})
	}
}

// unsynced returns a cache that has received nothing yet.
func unsynced(c *clustertest.Cluster) *cache.Cache {
	return cache.New(c.Bus, gpushare.Resource, slog.New(slog.DiscardHandler))
}

func TestScheduler_FailsBeforeFirstSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		d := c.Scheduler(unsynced(c))
		_, err := d.Filter(clustertest.Pod("p", "1Gi", 1), []string{"n"})
		require.ErrorContains(t, err, "has not seen the whole cluster yet")
		pod := c.Create(clustertest.Pod("p", "1Gi", 1))
		require.ErrorContains(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"), "has not seen the whole cluster yet")
	})
}

func TestPrioritize_UsesSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("empty", 24)
		c.Node("shared", 24)
		c.Node("full", 24)
		hold := func(node growth.NodeName, pod growth.PodUID, memory growth.MiB) {
			clustertest.Record(c, bus.AllocationKey(node, pod), bus.Allocation{Containers: []bus.ContainerAllocation{
				{Name: "c0", GPUs: []growth.GPUShare{{GPU: growth.GPU(node) + "-a", Memory: memory * growth.GiB}}},
			}})
		}
		hold("shared", "resident", 8)
		hold("full", "large", 24)
		rate := func() map[string]int8 {
			c.Settle()
			points, nodes := map[string]int8{}, []string{"empty", "shared", "full", "unknown"}
			for i, p := range c.Scheduler(c.Cache).Prioritize(clustertest.Pod("p", "8Gi", 8), nodes).Points {
				points[nodes[i]] = p
			}
			return points
		}
		require.Equal(t, map[string]int8{"empty": 10, "shared": 5, "full": 0, "unknown": 0}, rate())

		clustertest.Record(c, bus.SampleKey("resident"), bus.Sample{Node: "shared", Reported: true, Growth: 0.01, Category: growth.Converged})
		require.Equal(t, int8(8), rate()["shared"], "a converged job has less to lose")

		left := func(pod growth.PodUID, node growth.NodeName, seconds growth.Seconds) {
			clustertest.Record(c, bus.SampleKey(pod), bus.Sample{Node: node, Reported: true, Growth: 1, ETA: &bus.ETA{Left: &seconds}})
		}
		left("resident", "shared", 600)
		require.Equal(t, int8(5), rate()["shared"], "a new job stays for a shorter time")
		left("elsewhere", "another", 6000)
		left("resident", "shared", 20)
		require.Equal(t, int8(10), rate()["shared"], "the job ends soon")
		require.NoError(t, c.Bus.Delete(t.Context(), bus.SampleKey("elsewhere")))
		require.Equal(t, int8(5), rate()["shared"], "it ends as late as other jobs do")

		require.NoError(t, c.Bus.Delete(t.Context(), bus.AllocationKey("shared", "resident")))
		require.Equal(t, int8(10), rate()["shared"], "the job has left")
	})
}

func TestOutcome(t *testing.T) {
	for err, word := range map[error]string{
		nil: "bound", scheduler.ErrNoRoom: "no_room", scheduler.ErrBusUnavailable: "bus_away", errors.New("?"): "error",
	} {
		require.Equal(t, word, scheduler.Outcome(err))
		require.Contains(t, scheduler.Outcomes(), word)
	}
}
