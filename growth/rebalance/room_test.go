package rebalance_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/rebalance"
)

// A pod needs 12 GiB. Node a has 8 of 16 GiB free, node b 6 of 10.
func TestChoose_MakesRoom(t *testing.T) {
	tests := map[string]struct {
		change func(*rebalance.Cluster)
		stays  bool
	}{
		"one move makes room":           {change: func(*rebalance.Cluster) {}},
		"it may wait for a moment":      {change: pod(func(p *rebalance.Pending) { p.Created = start.Add(-time.Second) }), stays: true},
		"a job has moved for it":        {change: pod(func(p *rebalance.Pending) { p.Helped = true }), stays: true},
		"it fits a node":                {change: pod(func(p *rebalance.Pending) { p.Request = request(8) }), stays: true},
		"it fits no GPU at all":         {change: pod(func(p *rebalance.Pending) { p.Request = request(17) }), stays: true},
		"jobs have a higher priority":   {change: all(func(j *rebalance.Job) { j.Priority = 1 }), stays: true},
		"jobs cannot save":              {change: all(func(j *rebalance.Job) { j.Fixed = "it cannot save" }), stays: true},
		"jobs have moved twice":         {change: all(func(j *rebalance.Job) { j.History.Count = 2 }), stays: true},
		"their coordinators are silent": {change: all(func(j *rebalance.Job) { j.Prospects = nil }), stays: true},
		"the node is not allowed":       {change: func(c *rebalance.Cluster) { c.Allowed = nowhere }, stays: true},
		"sizes do not matter":           {change: all(func(j *rebalance.Job) { j.Prospects.Remaining.Known = false })},

		"only a cordoned node has room":       {change: func(c *rebalance.Cluster) { vacant(c, 1, ""); c.Allowed = except("new") }},
		"a cordoned node and one more have":   {change: func(c *rebalance.Cluster) { vacant(c, 2, ""); c.Allowed = except("new-0") }, stays: true},
		"a node that a job just leaves has":   {change: func(c *rebalance.Cluster) { vacant(c, 1, "a job moves") }, stays: true},
		"so many have that not all are asked": {change: func(c *rebalance.Cluster) { vacant(c, 33, ""); c.Allowed = except("new") }, stays: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := cluster(node("a", 1, 16), node("b", 1, 10))
			c.add("a", 0, 6, 50)
			c.add("a", 0, 2, 50)
			c.add("b", 0, 4, 50)
			c.wait("big", 12)
			test.change(&c.Cluster)
			d, moves, _ := choose(c)
			if test.stays {
				require.NotEqual(t, move.Room, d.Cause)
				return
			}
			require.True(t, moves)
			require.Equal(t, growth.PodUID("a-0"), d.Pod.UID)
			require.Equal(t, growth.PodUID("big"), d.For.UID)
			require.Equal(t, "pod ns/big fits no node, and would fit a without this job. The move takes about 30s ("+
				"assumed: no move of its program was measured)", d.Because)
		})
	}
}

// vacant adds nodes of 16 GiB without jobs, named new-0 and so on.
func vacant(c *rebalance.Cluster, nodes int, unused string) {
	for i := range nodes {
		n := node(fmt.Sprint("new-", i), 1, 16)
		n.Unused = unused
		c.Nodes = append(c.Nodes, n)
	}
}

// except allows all nodes but those whose names begin like one.
func except(name string) func(growth.PodUID, growth.NodeName) bool {
	return func(_ growth.PodUID, on growth.NodeName) bool { return !strings.HasPrefix(string(on), name) }
}

func pod(change func(*rebalance.Pending)) func(*rebalance.Cluster) {
	return func(c *rebalance.Cluster) { change(&c.Pending[0]) }
}

// A move is found exactly if the obvious search finds one, and it makes the pod fit.
func TestChoose_MakesRoomWheneverOneMoveDoes(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 1))
	found := 0
	for range 12000 {
		c := cluster()
		for i := range 2 + dice.IntN(3) {
			name := string(rune('a' + i))
			n := node(name, 1+dice.IntN(2), growth.MiB(8+dice.IntN(9)))
			c.Nodes = append(c.Nodes, n)
			for gpu := range n.GPUs {
				for left := n.GPUs[gpu].Memory / growth.GiB; dice.IntN(4) > 0 && left > 0; {
					memory := 1 + growth.MiB(dice.IntN(int(left)))
					c.add(name, gpu, memory, 0)
					left -= memory
				}
			}
		}
		c.each(func(j *rebalance.Job) {
			if dice.IntN(5) == 0 {
				j.Fixed = "it cannot save"
			}
		})
		c.wait("big", growth.MiB(1+dice.IntN(16)))
		want := reference(c)
		d, moves, _ := choose(c)
		require.Equal(t, len(want) > 0, moves, "%+v", c.Nodes)
		if moves {
			found++
			require.Contains(t, want, fmt.Sprint(d.Pod.UID, " to ", d.To))
		}
	}
	require.Greater(t, found, 300)
}

// reference returns all moves of one job that make room for the only pending pod.
func reference(c *testCluster) map[string]bool {
	need := c.Pending[0].Request.Memory
	free := map[growth.GPU]growth.MiB{}
	for _, n := range c.Nodes {
		for _, g := range n.GPUs {
			if free[g.UUID] = g.Free(); g.Free() >= need {
				return nil
			}
		}
	}
	moves := map[string]bool{}
	for _, from := range c.Nodes {
		for _, j := range from.Jobs {
			if j.Fixed != "" || free[j.GPUs[0]]+j.Request.Memory < need {
				continue
			}
			for _, to := range c.Nodes {
				for _, g := range to.GPUs {
					if to.Name != from.Name && free[g.UUID] >= j.Request.Memory {
						moves[fmt.Sprint(j.Pod.UID, " to ", to.Name)] = true
					}
				}
			}
		}
	}
	return moves
}
