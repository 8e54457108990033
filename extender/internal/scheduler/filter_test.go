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
	nonsense := clustertest.Pod("p", "much", 8)
	ordinary := clustertest.Pod("p", "8Gi")
	ordinary.Annotations = nil
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		fit     []string
		crowded map[string]string
		// hopeless maps a node to a part of its reason.
		hopeless map[string]string
	}{
		"every GPU node has room, the others say why not": {
			pod: clustertest.Pod("p", "8Gi", 8), fit: []string{"large", "busy"},
			hopeless: map[string]string{
				"small": "GPU memory: 8GiB asked, the largest GPU has 4GiB", "plain": "label gpushare=true is missing",
				"silent": "no live device plugin", "newer": "unknown record version 9", "unheard": "nothing is known",
			},
		},
		"one is crowded": {
			pod: clustertest.Pod("p", "20Gi", 20), fit: []string{"large"},
			crowded: map[string]string{"busy": "GPU memory: 20GiB asked, largest free share 12GiB on gpu-0"},
			hopeless: map[string]string{
				"small": "the largest GPU has 4GiB", "plain": "label", "silent": "plugin", "newer": "version", "unheard": "nothing",
			},
		},
		"more than any GPU has": {
			pod: clustertest.Pod("p", "80Gi", 80), fit: []string{},
			hopeless: map[string]string{
				"large": "GPU memory: 80GiB asked, the largest GPU has 24GiB", "busy": "24GiB", "small": "4GiB",
				"plain": "label", "silent": "plugin", "newer": "version", "unheard": "nothing",
			},
		},
		"nonsense is named, on every node": {
			pod: nonsense, fit: []string{},
			hopeless: map[string]string{
				"large": `annotation gpushare/gpu-mem: "much" is not an amount of GPU memory`, "busy": "much", "small": "much",
				"plain": "much", "silent": "much", "newer": "much", "unheard": "much",
			},
		},
		"a pod that asks for nothing is let through": {
			pod: ordinary, fit: []string{"large", "busy", "small", "plain", "silent", "newer", "unheard"},
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

				found, err := c.Scheduler(c.Cache).Filter(tc.pod, []string{"large", "busy", "small", "plain", "silent", "newer", "unheard"})
				require.NoError(t, err)
				require.Equal(t, tc.fit, found.Fit())
				crowded, hopeless := found.Failed(false), found.Failed(true)
				require.Len(t, crowded, len(tc.crowded))
				for node, reason := range crowded {
					require.Equal(t, tc.crowded[node], reason)
				}
				require.Len(t, hopeless, len(tc.hopeless))
				for node, reason := range hopeless {
					require.Contains(t, tc.hopeless, node)
					require.Contains(t, reason, tc.hopeless[node])
				}
			})
		})
	}
}

// blind is a view that has seen nothing yet.
func blind(c *clustertest.Cluster) *cache.Cache {
	return cache.New(c.Bus, gpushare.Resource, slog.New(slog.DiscardHandler))
}

func TestNoAnswerBeforeTheFirstFullView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		d := c.Scheduler(blind(c))
		_, err := d.Filter(clustertest.Pod("p", "1Gi", 1), []string{"n"})
		require.ErrorContains(t, err, "has not seen the whole cluster yet")
		pod := c.Create(clustertest.Pod("p", "1Gi", 1))
		require.ErrorContains(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"), "has not seen the whole cluster yet")
	})
}

func TestPrioritizeFollowsWhatTheCoordinatorPublishes(t *testing.T) {
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
			points, nodes := map[string]int8{}, []string{"empty", "shared", "full", "unheard"}
			for i, p := range c.Scheduler(c.Cache).Prioritize(clustertest.Pod("p", "8Gi", 8), nodes).Points {
				points[nodes[i]] = p
			}
			return points
		}
		require.Equal(t, map[string]int8{"empty": 10, "shared": 4, "full": 0, "unheard": 0}, rate())

		clustertest.Record(c, bus.SampleKey("resident"), bus.Sample{Node: "shared", Reported: true, Growth: 0.01, Category: growth.Converged})
		require.Equal(t, int8(7), rate()["shared"], "a converged job has less to lose")

		require.NoError(t, c.Bus.Delete(t.Context(), bus.AllocationKey("shared", "resident")))
		require.Equal(t, int8(10), rate()["shared"], "it has left")
	})
}

func TestOutcomesHaveAWordEach(t *testing.T) {
	for err, word := range map[error]string{
		nil: "bound", scheduler.ErrNoRoom: "no_room", scheduler.ErrBusUnavailable: "bus_away", errors.New("?"): "error",
	} {
		require.Equal(t, word, scheduler.Outcome(err))
		require.Contains(t, scheduler.Outcomes(), word)
	}
}
