package specon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/specon"
)

const alpha = 0.01

// Each row is a job that is observed at the end of each interval.
func TestMonitor(t *testing.T) {
	tests := map[string]struct {
		values []float64
		want   growth.Category
		asks   bool
	}{
		"first value":                          {[]float64{1}, growth.Progressing, false},
		"grows":                                {[]float64{1, 0.8, 0.7}, growth.Progressing, false},
		"one slow interval":                    {[]float64{1, 0.8, 0.795}, growth.Watching, false},
		"two slow intervals, slower each time": {[]float64{1, 0.8, 0.795, 0.792}, growth.Converged, false},
		"three ask to be moved":                {[]float64{1, 0.8, 0.795, 0.792, 0.791}, growth.Converged, true},
		"a late breakthrough":                  {[]float64{1, 0.8, 0.795, 0.792, 0.5}, growth.Progressing, false},
		"flat: never falls, since the growth does not decrease": {[]float64{1, 1, 1, 1, 1, 1}, growth.Progressing, false},
		"flat after progress: stops at Watching":                {[]float64{1, 0.8, 0.8, 0.8, 0.8, 0.8}, growth.Watching, false},
		"growth of exactly alpha has no branch":                 {[]float64{1, 0.5, 0.49, 0.48}, growth.Progressing, false},
		"the same loss, ten times larger, never converges":      {[]float64{10, 8, 7.95, 7.92, 7.9}, growth.Progressing, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var m specon.Monitor
			asks := false
			for _, e := range test.values {
				asks = m.Observe(e, alpha)
			}
			require.Equal(t, test.want, m.Category)
			require.Equal(t, test.asks, asks)
		})
	}
}

func TestMonitor_AMigratedJobIsNotObserved(t *testing.T) {
	m := specon.Monitor{Category: growth.Converged, Migrated: true}
	for _, e := range []float64{1, 0.5, 0.1} {
		require.False(t, m.Observe(e, alpha))
	}
	require.Equal(t, growth.Converged, m.Category, "it grows again, and nobody notices")
}

func TestLiteral(t *testing.T) {
	tests := map[string]struct {
		nodes   []specon.Node
		decides bool
		to      growth.NodeName
	}{
		"one job that learns is not enough": {nodes: cluster("CP", "")},
		"the host has the lowest score":     {nodes: cluster("CPP", "PPP"), decides: true, to: "a"},
		"the job does not count at the target, which gets a higher score than its host had": {cluster("CPP", "PW"), true, "b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			move, decides := specon.Literal(test.nodes, "a", "a-0")
			require.Equal(t, test.decides, decides)
			require.Equal(t, test.to, move.To)
		})
	}
	t.Run("equal scores: the node that uses less CPU", func(t *testing.T) {
		nodes := cluster("CPPP", "P", "P")
		nodes[1].Use, nodes[2].Use = 0.9, 0.2
		move, _ := specon.Literal(nodes, "a", "a-0")
		require.Equal(t, growth.NodeName("c"), move.To)
	})
}

func TestLiteralRebalance(t *testing.T) {
	tests := map[string]struct {
		nodes []specon.Node
		want  map[growth.NodeName]int
	}{
		"an idle node gets one job":          {cluster("CCCCCC", "CC", ""), map[growth.NodeName]int{"a": 5, "b": 2, "c": 1}},
		"a node with a single job is robbed": {cluster("C", ""), map[growth.NodeName]int{"a": 0, "b": 1}},
		"a gap of two stays":                 {cluster("CCC", "C"), map[growth.NodeName]int{"a": 3, "b": 1}},
		"fewer jobs than nodes: the balance factor is one, not zero": {
			cluster("CC", "", ""), map[growth.NodeName]int{"a": 0, "b": 1, "c": 1},
		},
		"a job that would go to two nodes goes to the first, and the second gets none": {
			cluster("CCCCCCCC", "C", "C"), map[growth.NodeName]int{"a": 7, "b": 2, "c": 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			migrated := map[growth.PodUID]time.Time{}
			for _, j := range test.nodes[0].Jobs {
				migrated[j.ID] = j.Converged.Add(time.Second)
			}
			require.Equal(t, test.want, counts(test.nodes, specon.LiteralRebalance(test.nodes, migrated)))
		})
	}
}
