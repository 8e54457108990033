package node

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/save"
)

// The ranks of a job on several nodes stop after the same step, and save together. Each node says on the bus what its ranks have
// reached and answered, and what its users ask for (bus.GangRanks); package halt counts the ranks of other nodes like its own. The
// node with the lowest name leads: it names the step, and the others give their ranks its order. Without a request nothing is said.
//
// A node leads only if it knows all ranks, so it knows all nodes of the job, and no other node can lead at the same time.

// farRanks is what this node has said about its ranks of a job on several nodes.
type farRanks struct {
	said  *bus.GangRanks
	gang  string            // for which it was said: once its processes have ended, the job may not be known as one any more
	heard []growth.NodeName // the nodes whose ranks are known
	part  *save.Part        // what its ranks have saved for the last request
}

// spansNodes reports whether ranks of the job are on other nodes that can be reached over the bus.
func (n *Node) spansNodes(j *job) bool { return n.self != "" && j.spanning() != "" && j.halt().Spans() }

// others returns what other nodes say about the job.
func (n *Node) others(j *job) map[growth.NodeName]bus.GangRanks {
	if len(n.gangs) == 0 {
		return nil
	}
	return n.gangs[j.spanning()]
}

func (e GangsChanged) apply(n *Node) {
	n.self, n.gangs = e.Self, e.Others
	for _, j := range n.sorted() {
		if j.identity() == j {
			n.hear(j)
		}
	}
}

// hear follows what other nodes say about a job.
func (n *Node) hear(j *job) {
	others := n.others(j)
	if len(others) == 0 && len(j.far.heard) == 0 {
		return
	}
	heard := slices.Sorted(maps.Keys(others))
	for _, node := range j.far.heard {
		if _, still := others[node]; !still {
			j.pause.halt.Elsewhere(n.now, node, nil)
		}
	}
	for _, node := range heard {
		j.pause.halt.Elsewhere(n.now, node, others[node].Ranks)
	}
	j.far.heard = heard
	n.followPause(j)
	n.followSave(j)
}

// leader returns the node that leads the job; empty if this one does, or none is known.
func (n *Node) leader(j *job) growth.NodeName {
	lowest := n.self
	for node, said := range n.others(j) {
		if len(said.Ranks) > 0 {
			lowest = min(lowest, node)
		}
	}
	if lowest == n.self {
		return ""
	}
	return lowest
}

// pausedElsewhere reports whether the user has paused a pod of the job on another node.
func (n *Node) pausedElsewhere(j *job) bool {
	for _, said := range n.others(j) {
		if said.Pause {
			return true
		}
	}
	return false
}

// askedElsewhere joins the request of another node.
func (n *Node) askedElsewhere(j *job) {
	s := &j.save
	for _, node := range j.far.heard {
		name := n.others(j)[node].Save
		if name != "" && name != s.handled && s.request == nil && (!byUser(name) || gpushare.CheckSave(name) == nil) && !n.awaitsShim(j) {
			s.handled = name
			n.beginSave(j, name, n.now.Add(saveTime))
		}
	}
}

// saveTogether follows the open request of a job on several nodes: this node's ranks save once all ranks have stopped, and none
// continues until all nodes have saved.
func (n *Node) saveTogether(j *job) {
	s, h := &j.save, &j.pause.halt
	if j.far.part == nil || j.far.part.Request != s.request.Name {
		j.far.part = nil
		switch o, done := s.request.Outcome(n.now, h.Processes()); {
		case done:
			part := save.PartOf(s.request.Name, o)
			j.far.part = &part
		case !h.Stopped():
			n.orderStop(j, n.podsOf(j), true)
		default:
			n.sendSaves(j)
		}
	}
	parts, all := n.parts(j)
	switch {
	case all:
		n.endSave(j, save.Whole(parts))
	case !n.now.Before(s.request.Deadline):
		n.endSave(j, save.Outcome{Reason: "the ranks on another node did not answer in time", Able: j.far.part != nil})
	case h.Incomplete() && n.now.Sub(s.began) > farTime:
		n.endSave(j, save.Outcome{Reason: "some of its ranks run elsewhere, and are not connected there"})
	default:
		return
	}
	n.leaveDeleted(j)
}

// farTime is the time in which all ranks of a job on several nodes must have reported.
const farTime = 30 * time.Second

// parts returns what the nodes of the job have saved for the open request, and whether all of them have answered.
func (n *Node) parts(j *job) (parts []save.Part, all bool) {
	if j.far.part == nil || j.pause.halt.Incomplete() {
		return nil, false
	}
	parts = []save.Part{*j.far.part}
	for _, node := range j.far.heard {
		said := n.others(j)[node]
		if len(said.Ranks) == 0 {
			continue
		}
		if said.Part == nil || said.Part.Request != j.save.request.Name {
			return nil, false
		}
		parts = append(parts, *said.Part)
	}
	return parts, true
}

// say publishes what this node says about its ranks, if somebody asks for it and it has changed. A job that has left while its request
// was followed says nothing more: its next pods would wait for ranks that are gone, or be paused by them.
func (n *Node) say(j *job) {
	if n.jobs[j.pod.Ref.UID] != j {
		return
	}
	if !n.spansNodes(j) {
		n.hush(j)
		return
	}
	record := bus.GangRanks{Ranks: j.pause.halt.Local(), Pause: n.wantsPause(n.podsOf(j)), Part: j.far.part}
	record.Order, _ = j.pause.halt.Order()
	if j.save.request != nil {
		record.Save = j.save.request.Name
	}
	asked := record.Pause || record.Save != "" || len(j.far.heard) > 0
	if !asked && j.far.said == nil || j.far.said != nil && same(record, *j.far.said) {
		return
	}
	j.far.said, j.far.gang = &record, j.spanning()
	n.out.Gangs = append(n.out.Gangs, GangReport{Gang: j.far.gang, Record: &record})
}

// hush takes back what this node has said about a job that has no ranks here any more.
func (n *Node) hush(j *job) {
	if j.far.said != nil {
		n.out.Gangs = append(n.out.Gangs, GangReport{Gang: j.far.gang})
	}
	j.far.said = nil
}

// same reports whether two records say the same. The steps of ranks that run count only in answers.
func same(a, b bus.GangRanks) bool {
	ranks := slices.EqualFunc(a.Ranks, b.Ranks, func(x, y halt.Rank) bool {
		if !x.Stopped && !y.Stopped {
			x.Step = y.Step
		}
		return x == y
	})
	a.Ranks, b.Ranks = nil, nil
	return ranks && reflect.DeepEqual(a, b)
}
