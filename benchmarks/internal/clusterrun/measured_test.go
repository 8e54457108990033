package clusterrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/clustersim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

func TestSolos(t *testing.T) {
	all := workload.Workload{{Name: "a", Kind: "gru", Steps: 1000, Arrival: 3 * time.Second}}
	alone := Played{Seconds: map[string]float64{"a": 42}}
	solos, err := Solos(all, alone)
	require.NoError(t, err)
	require.Equal(t, []clustersim.Solo{{Kind: "gru", Arrival: 3, Seconds: 42, Length: 0.5}}, solos)

	alone.Pods = map[string]Pod{"a": {Starting: 3, Ending: 4}}
	solos, err = Solos(all, alone)
	require.NoError(t, err)
	require.InDelta(t, 35, solos[0].Seconds, 1e-9, "what it computed")

	alone.Pods["a"] = Pod{Starting: 40, Ending: 2}
	_, err = Solos(all, alone)
	require.ErrorContains(t, err, "a took 42 s alone, and a pod starts and ends in 42 s")
	_, err = Solos(all, Played{})
	require.ErrorContains(t, err, "a has not run alone")
	require.InDelta(t, 15, Usual(workload.Workload{{Name: "a", Kind: "gru", Steps: 1000, Batch: 32}}).Seconds["a"], 1e-9)
}

// Node-2 runs c, a and d: 54 s one after the other, and 59.4 s at the same time, where two of three slices are another job's.
func TestNodes(t *testing.T) {
	all := workload.Workload{{Name: "a", Steps: 10}, {Name: "b", Steps: 50}, {Name: "c", Steps: 30}, {Name: "d", Steps: 10}}
	alone := Played{Seconds: map[string]float64{"a": 9, "b": 50, "c": 30, "d": 15}}
	together := Played{Seconds: map[string]float64{"a": 20, "b": 59, "c": 59.4, "d": 22}}
	nodes, err := Nodes(all, 2, alone, together)
	require.NoError(t, err)
	require.InDelta(t, 0.15, nodes.Switching, 1e-9)
	require.Zero(t, nodes.Starting)

	// If pods take 1 s to start and 2 s to end, node-2 computed for 45 s one after the other. Together its pods took 2 s to start.
	alone.Pods, together.Pods = map[string]Pod{}, map[string]Pod{}
	for name := range alone.Seconds {
		alone.Pods[name], together.Pods[name] = Pod{Starting: 1, Ending: 2}, Pod{Starting: 2, Ending: 2}
	}
	nodes, err = Nodes(all, 2, alone, together)
	require.NoError(t, err)
	require.InDelta(t, (59.4-4-45)/(45*2./3), nodes.Switching, 1e-9)
	require.Equal(t, clustersim.Nodes{Number: 2, Switching: nodes.Switching, Starting: 1, Ending: 2}, nodes)

	_, err = Nodes(all, 2, alone, Played{})
	require.ErrorContains(t, err, "b has not run both alone and together")
	_, err = Nodes(all[:2], 2, alone, together)
	require.ErrorContains(t, err, "no node has run several jobs")
}

func TestPlaced(t *testing.T) {
	all := workload.Workload{{Name: "a"}, {Name: "b"}}
	before := Played{Pods: map[string]Pod{"a": {Node: "node-3"}, "b": {Node: "node-1"}}}
	after := Played{Pods: map[string]Pod{"a": {Node: "node-1"}, "b": {Node: "node-2"}}}
	nodes, ok := Placed(all, before, after)
	require.True(t, ok)
	require.Equal(t, [2][]int{{2, 0}, {0, 1}}, nodes)
	_, ok = Placed(all, before, Played{})
	require.False(t, ok, "its pods were not recorded")
	after.Moves = []string{"a: moved"}
	_, ok = Placed(all, before, after)
	require.False(t, ok, "where a was before is not recorded")
}
