package rebalance_test

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/rebalance"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/specon"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// testCluster is a cluster with nodes of some GPUs, named <node>-0 and so on, and one core.
type testCluster struct{ rebalance.Cluster }

func everywhere(growth.PodUID, growth.NodeName) bool { return true }
func nowhere(growth.PodUID, growth.NodeName) bool    { return false }

func cluster(nodes ...rebalance.Node) *testCluster {
	return &testCluster{rebalance.Cluster{Now: start, Nodes: nodes, Policy: placement.Spread{}, Allowed: everywhere}}
}

func node(name string, gpus int, memory growth.MiB) rebalance.Node {
	n := rebalance.Node{
		Node:   placement.Node{Name: growth.NodeName(name), Unit: growth.GiB},
		CPU:    growth.Core,
		Models: map[growth.GPU]string{},
	}
	for i := range gpus {
		gpu := growth.GPU(fmt.Sprintf("%s-%d", name, i))
		n.GPUs = append(n.GPUs, placement.GPU{UUID: gpu, Index: i, Memory: memory * growth.GiB, Healthy: true})
		n.Models[gpu] = "A100"
	}
	return n
}

func request(memory growth.MiB) placement.Request {
	return placement.Request{Kind: "k", Memory: memory * growth.GiB, Count: 1, Containers: []placement.Container{{Name: "train", Units: int(memory)}}}
}

// add adds a job of one hour that holds memory on a GPU, and has some work left.
func (c *testCluster) add(to string, gpu int, memory growth.MiB, work growth.Work) {
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if string(n.Name) != to {
			continue
		}
		uid := growth.PodUID(fmt.Sprintf("%s-%d", to, len(n.Jobs)))
		g := &n.GPUs[gpu]
		g.Residents = append(g.Residents, placement.Resident{Pod: uid, Memory: memory * growth.GiB, Growth: 1, Activity: 1})
		n.Jobs = append(n.Jobs, rebalance.Job{
			Pod:     growth.PodRef{Namespace: "ns", Name: string(uid), UID: uid},
			GPUs:    []growth.GPU{g.UUID},
			Request: request(memory),
			Created: start.Add(-time.Hour),
			Prospects: &rebalance.Prospects{
				Node:      n.Name,
				Remaining: remaining.Exact(work),
				Usable:    growth.Core,
				Activity:  1,
			},
		})
	}
}

func (c *testCluster) each(change func(*rebalance.Job)) { all(change)(&c.Cluster) }

// wait adds a pod that has waited for a minute.
func (c *testCluster) wait(name string, memory growth.MiB) {
	c.Pending = append(c.Pending, rebalance.Pending{
		Pod:     growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID(name)},
		Request: request(memory),
		Created: start.Add(-time.Minute),
	})
}

func choose(c *testCluster) (rebalance.Decision, bool, map[growth.NodeName]string) {
	return rebalance.Choose(c.Cluster, specon.DefaultRule())
}

// all changes all jobs, first the first one of the first node.
func all(change func(*rebalance.Job)) func(*rebalance.Cluster) {
	return func(c *rebalance.Cluster) {
		for i := range c.Nodes {
			for k := range c.Nodes[i].Jobs {
				change(&c.Nodes[i].Jobs[k])
			}
		}
	}
}

func first(change func(*rebalance.Job)) func(*rebalance.Cluster) {
	return func(c *rebalance.Cluster) { change(&c.Nodes[0].Jobs[0]) }
}

func left(e remaining.Estimate) func(*rebalance.Job) {
	return func(j *rebalance.Job) { j.Prospects.Remaining = e }
}

func failed(at time.Time) move.History {
	return move.History{}.With(move.Record{ID: "failed", State: move.Aborted, Since: at})
}

// moved returns the history of a job that has moved once, in some seconds.
func moved(from, to growth.NodeName, took growth.Seconds) move.History {
	return move.History{}.With(move.Record{
		ID: "moved", From: from, To: to, On: to, State: move.Done, Gone: true, Since: start.Add(-time.Hour),
		Began: start.Add(-time.Hour - took.Duration()),
	})
}
