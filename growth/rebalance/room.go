package rebalance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/specon"
)

const (
	// patience is how long a pod is pending before a job moves for it. kube-scheduler and preemption come first.
	patience = 30 * time.Second
	// maxChecked bounds the candidates that are checked with Allowed, and the nodes that have room for a pod.
	maxChecked = 32
)

// candidate is a move that makes room on a node for a pending pod.
type candidate struct {
	job      *Job
	from, to *Node
	cost     growth.Seconds
	memory   growth.MiB
	score    placement.Score
}

// makeRoom returns the cheapest move by which a pending pod fits a node. Pods of higher priority come first, then those that
// have waited longest.
func (v *view) makeRoom(rule specon.Rule) (Decision, bool) {
	pending := slices.DeleteFunc(slices.Clone(v.Pending), func(p Pending) bool {
		return p.Helped || v.Now.Sub(p.Created) < patience
	})
	slices.SortFunc(pending, func(a, b Pending) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	for _, p := range pending {
		if v.fitsNow(p) {
			continue
		}
		candidates := v.candidates(p, rule)
		for _, m := range candidates[:min(len(candidates), maxChecked)] {
			if !v.Allowed(p.Pod.UID, m.from.Name) || !v.Allowed(m.job.Pod.UID, m.to.Name) {
				continue
			}
			return Decision{
				Pod:   m.job.Pod,
				From:  m.from.Name,
				To:    m.to.Name,
				Cause: move.Room,
				For:   p.Pod,
				Because: fmt.Sprintf("pod %s fits no node, and would fit %s without this job. The move takes about %s (%s)",
					p.Pod, m.from.Name, rounded(m.cost), v.basis(*m.job, m.to.Name)),
			}, true
		}
	}
	return Decision{}, false
}

// fitsNow reports whether a node where a pod may run has room for it: then it waits for something else. That includes nodes that
// take no part in moves, such as one that a job is just leaving, because kube-scheduler uses them. A pod for which more nodes have room
// than are checked is left to kube-scheduler too.
func (v *view) fitsNow(p Pending) bool {
	checked := 0
	return slices.ContainsFunc(v.Nodes, func(n Node) bool {
		if !placement.Fit(n.Node, p.Request).Fits() {
			return false
		}
		checked++
		return checked > maxChecked || v.Allowed(p.Pod.UID, n.Name)
	})
}

// candidates returns the moves that make room for a pod, the best first: the cheapest, then that of the least memory, then
// that to the best place.
func (v *view) candidates(p Pending, rule specon.Rule) (all []candidate) {
	for i := range v.Nodes {
		from := &v.Nodes[i]
		if from.Unused != "" {
			continue
		}
		for k := range from.Jobs {
			job := &from.Jobs[k]
			if silent(*job, from.Name) != "" || !v.yields(*job, p, rule) || !placement.Fit(from.Without(job.Pod.UID), p.Request).Fits() {
				continue
			}
			all = append(all, v.targets(job, from)...)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.memory, b.memory), cmp.Compare(b.score, a.score),
			cmp.Compare(a.job.Pod.UID, b.job.Pod.UID), cmp.Compare(a.to.Name, b.to.Name))
	})
	return all
}

// yields reports whether a job may be moved for a pending pod.
func (v *view) yields(j Job, p Pending, rule specon.Rule) bool {
	return v.fixed(j) == "" && j.Priority <= p.Priority && j.History.Count < rule.MaxMoves && v.Now.Sub(j.Created) >= rule.Dwell
}

// targets returns the nodes that a job could move to.
func (v *view) targets(job *Job, from *Node) (all []candidate) {
	memory, _ := job.Request.MemoryPerGPU(from.Unit)
	for i := range v.Nodes {
		to := &v.Nodes[i]
		if to == from || to.Unused != "" {
			continue
		}
		choice, status := placement.Place(to.Node, job.Request, v.Policy)
		if !status.Fits() || !sameModels(*job, from, choice, to) {
			continue
		}
		all = append(all, candidate{
			job:    job,
			from:   from,
			to:     to,
			cost:   v.cost(*job, to.Name),
			memory: memory,
			score:  choice.Score,
		})
	}
	return all
}
