package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// maxPublished bounds the programs whose runs a node publishes for other nodes.
const maxPublished = 16

// programID identifies the job's program on all nodes. It is zero if the program is unknown.
func (j *job) programID() programs.ID {
	return programs.IDOf(j.pod.Ref.Namespace, j.spec.Similar(j.pod.Anywhere))
}

// recall requests the runs of a new job's program on other nodes.
func (n *Node) recall(j *job) {
	if id := j.programID(); id != (programs.ID{}) {
		n.out.Recall = append(n.out.Recall, Recall{Pod: j.pod.Ref, Program: id})
	}
}

func (e RunsProvided) apply(n *Node) {
	j := n.jobs[e.Pod]
	if j == nil {
		return
	}
	same := slices.EqualFunc(j.clusterRuns, e.Runs, func(known Run, r programs.Run) bool {
		return known.Pod == r.Pod && known.Ended.Equal(r.Ended)
	})
	if same {
		return
	}
	j.clusterRuns = make([]Run, len(e.Runs))
	for i, r := range e.Runs {
		j.clusterRuns[i] = Run{
			Pod:     r.Pod,
			Job:     r.Job,
			Program: j.program(),
			Ended:   r.Ended,
			Curve:   r.Curve(),
			Whole:   r.Whole,
			node:    r.Node,
			remote:  true,
		}
	}
	n.interrupt("history", false)
}

// fromCluster returns the runs of the job's program on other nodes that this node does not know itself. It leaves out
// those that contradict what the node measures.
func (n *Node) fromCluster(j *job) (runs []Run) {
	unit := n.unit()
	measured := j.costIn(unit).measured()
	for _, r := range j.clusterRuns {
		own := slices.ContainsFunc(n.endedRuns, func(known Run) bool { return known.Pod == r.Pod })
		if !own && !programs.Contradicts(r.Whole, measured, unit, j.pod.Numbers) {
			runs = append(runs, r)
		}
	}
	return runs
}

// shareRuns publishes what has changed in the runs of the node's newest programs.
func (n *Node) shareRuns(changed programs.ID) {
	newest := map[programs.ID][]programs.Run{}
	var order []programs.ID
	for _, r := range n.endedRuns {
		if r.ID == (programs.ID{}) {
			continue
		}
		if _, known := newest[r.ID]; !known {
			if len(order) == maxPublished {
				continue
			}
			order = append(order, r.ID)
		}
		if len(newest[r.ID]) < programs.MaxRunsPerNode {
			newest[r.ID] = append(newest[r.ID], r.published())
		}
	}
	for _, id := range order {
		if id == changed || !n.published[id] {
			n.published[id] = true
			n.out.Learned = append(n.out.Learned, LearnedProgram{Program: id, Runs: newest[id]})
		}
	}
	ids := slices.SortedFunc(maps.Keys(n.published), func(a, b programs.ID) int { return cmp.Compare(a.String(), b.String()) })
	for _, id := range ids {
		if len(newest[id]) == 0 {
			delete(n.published, id)
			n.out.Learned = append(n.out.Learned, LearnedProgram{Program: id})
		}
	}
}

// published returns the run in the form in which nodes exchange it.
func (r Run) published() programs.Run {
	return programs.Run{Pod: r.Pod, Job: r.Job, Ended: r.Ended, Whole: r.Whole}.WithCurve(r.Curve)
}

// origin says where the runs come from on which a prediction is based.
func origin(runs []Run) string {
	remote, nodes := 0, map[growth.NodeName]bool{}
	for _, r := range runs {
		if r.remote {
			remote++
			nodes[r.node] = true
		}
	}
	cluster := fmt.Sprintf("the cluster, %s on %s", counted(remote, "run"), counted(len(nodes), "node"))
	switch {
	case len(runs) == 0:
		return ""
	case remote == 0:
		return "this node"
	case remote < len(runs):
		return "this node and " + cluster
	}
	return cluster
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
