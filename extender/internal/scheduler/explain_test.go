package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// attempt sends the requests of one attempt to place a pod: filter, and prioritize for the nodes that other plugins accept.
func attempt(t *testing.T, d *scheduler.Scheduler, c *clustertest.Cluster, name string, nodes, rated []string) growth.PodRef {
	t.Helper()
	pod := c.Create(clustertest.Pod(name, "8Gi", 8))
	c.Settle()
	_, err := d.Filter(pod, nodes)
	require.NoError(t, err)
	d.Prioritize(pod, rated)
	return clustertest.Ref(pod)
}

func TestExplain_UsesNodesOfTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("empty", 24)
		c.Node("shared", 24)
		c.Node("tainted", 24)
		c.Node("small", 4)
		clustertest.Record(c, bus.ReservationKey("shared", "x"), bus.Reservation{GPUs: []growth.GPUShare{{GPU: "shared-a", Memory: 8 * growth.GiB}}})
		d := c.Scheduler(c.Cache)
		pod := attempt(t, d, c, "p", []string{"unknown", "tainted", "small", "shared", "empty"}, []string{"shared", "empty"})

		// Later changes are not part of the explanation.
		clustertest.Record(c, bus.ReservationKey("empty", "y"), bus.Reservation{GPUs: []growth.GPUShare{{GPU: "empty-a", Memory: 24 * growth.GiB}}})
		c.Settle()
		e, known := d.Explain("default", "p")
		require.True(t, known)
		require.Equal(t, pod, e.Pod)
		require.Equal(t, 8*growth.GiB, e.Memory)
		require.Equal(t, "growth", e.Policy)
		require.Nil(t, e.Bind)
		lines := make([]string, len(e.Nodes))
		for i, n := range e.Nodes {
			lines[i] = fmt.Sprintf("%s %d %s", n.Node, n.Points, n.Reason)
			for _, g := range n.GPUs {
				lines[i] += fmt.Sprintf("%s: %s", g.GPU, g.Why)
			}
		}
		require.Equal(t, []string{
			"empty 10 empty-a: +1.00 growth: alone on the GPU",
			"shared 5 shared-a: +0.76 growth for the pod, -0.24 for 1 there already; its steps take 1.31 ± 0.15 times as long as alone",
			"tainted 0 ",
			"small 0 GPU memory: 8GiB asked, the largest GPU has 4GiB",
			"unknown 0 nothing is known about the node yet",
		}, lines)

		require.Error(t, d.Bind(t.Context(), pod, "empty"))
		e, _ = d.Explain("default", "p")
		require.Contains(t, e.Bind.Error, "no room any more")
		require.NoError(t, d.Bind(t.Context(), pod, "shared"))
		e, _ = d.Explain("default", "p")
		require.Equal(t, growth.NodeName("shared"), e.Bind.Node)
		require.Equal(t, []growth.GPU{"shared-a"}, e.Bind.GPUs)
		require.Empty(t, e.Bind.Error)
		require.Len(t, e.Nodes, 5)
	})
}

func TestExplain_DecisionLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		c.Settle()
		d := c.Scheduler(c.Cache)
		filter := func(name string, nodes []string) {
			_, err := d.Filter(clustertest.Pod(name, "8Gi", 8), nodes)
			require.NoError(t, err)
		}
		for i := range 2000 {
			filter(fmt.Sprint(i), []string{"n"})
			filter("again", []string{"n"})
		}
		_, old := d.Explain("default", "976")
		_, young := d.Explain("default", "977")
		require.Equal(t, []bool{false, true}, []bool{old, young}, "1024 pods are in the log, each once")
		filter("large", slices.Repeat([]string{"n"}, 1<<19))
		_, young = d.Explain("default", "1999")
		_, large := d.Explain("default", "large")
		require.Equal(t, []bool{false, true}, []bool{young, large}, "a large decision replaces small ones")
	})
}

func TestExplain_NoDecisionWithoutRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		c.Settle()
		d := c.Scheduler(c.Cache)
		pod := clustertest.Pod("plain", "8Gi")
		clear(pod.Annotations)
		_, err := d.Filter(pod, []string{"n"})
		require.NoError(t, err)
		require.Equal(t, []int8{0}, d.Prioritize(pod, []string{"n"}).Points)
		_, known := d.Explain("default", "plain")
		require.False(t, known)
		_, known = d.Explain("default", strings.Repeat("x", 300))
		require.False(t, known)
	})
}
