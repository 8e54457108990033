package specon

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// margin is by how much a move must lower the score of the job's place.
const margin = 1

// Corrected returns the moves that SpeCon's text asks for. Categories are those of the node's own classifier, and travel with
// the job. It accounts for each move before it chooses the next. A job moves if that makes its end earlier by more than it costs;
// a job that stays because it does not may move later.
func Corrected(nodes []Node, fits Fits) []Move {
	nodes = clone(nodes)
	var moves []Move
	for _, host := range nodes {
		for _, job := range slices.Clone(host.Jobs) {
			to, ok := target(nodes, host.Name, job, fits)
			if ok && asks(at(nodes, host.Name), job) && pays(*at(nodes, host.Name), *at(nodes, to), job) {
				moves = append(moves, relocate(nodes, Move{Job: job.ID, From: host.Name, To: to, Reason: Speculative}))
			}
		}
	}
	return append(moves, rebalance(nodes, fits)...)
}

// asks reports whether a job is to leave (Algorithm 3): it has converged, and another job of its node has not.
func asks(host *Node, job Job) bool {
	return job.Category == growth.Converged && job.Fixed == "" && job.Speculative == 0 && job.moves() < maxMoves &&
		slices.ContainsFunc(host.Jobs, func(other Job) bool { return other.ID != job.ID && other.Category != growth.Converged })
}

// pays reports whether a job ends earlier by more than the cost of its move, as far as its size is known. SpeCon's text has the check
// and no forecast: here it is the end under fair sharing.
func pays(from, to Node, job Job) bool {
	if !fairfinish.Sized(job.Remaining) {
		return true
	}
	before := expect(from, from.Jobs).ends[job.ID]
	after := expect(to, append(slices.Clone(to.Jobs), job)).ends[job.ID]
	return before-after > job.Cost
}

// target returns the node with the lowest score that is lower with the job than the host's (Algorithm 4).
func target(nodes []Node, host growth.NodeName, job Job, fits Fits) (growth.NodeName, bool) {
	limit := at(nodes, host).Score() - margin
	var best *Node
	for i := range nodes {
		n := &nodes[i]
		if n.Name == host || n.Score()+Weight(job.Category) > limit || !fits(job, *n) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(n.Score(), best.Score()), cmp.Compare(n.Use, best.Use), cmp.Compare(n.Name, best.Name)) < 0 {
			best = n
		}
	}
	if best == nil {
		return "", false
	}
	return best.Name, true
}

// rebalance evens out the number of jobs when no job is left to converge, or a node is idle (Algorithm 5).
func rebalance(nodes []Node, fits Fits) (moves []Move) {
	if !settled(nodes) && !slices.ContainsFunc(nodes, func(n Node) bool { return len(n.Jobs) == 0 }) {
		return nil
	}
	for {
		byLoad := make([]*Node, len(nodes))
		for i := range nodes {
			byLoad[i] = &nodes[i]
		}
		slices.SortFunc(byLoad, func(a, b *Node) int {
			return cmp.Or(cmp.Compare(len(a.Jobs), len(b.Jobs)), cmp.Compare(a.Use, b.Use), cmp.Compare(a.Name, b.Name))
		})
		least, most := byLoad[0], byLoad[len(byLoad)-1]
		if len(most.Jobs)-len(least.Jobs) < 2 {
			return moves
		}
		job, ok := latestConverged(most.Jobs, func(j Job) bool {
			return j.Fixed == "" && j.Rebalanced == 0 && j.moves() < maxMoves && fits(j, *least)
		})
		if !ok || !pays(*most, *least, job) {
			return moves
		}
		moves = append(moves, relocate(nodes, Move{Job: job.ID, From: most.Name, To: least.Name, Reason: Rebalancing}))
	}
}

// settled reports whether there are jobs and all of them have converged.
func settled(nodes []Node) bool {
	jobs := 0
	for _, n := range nodes {
		for _, j := range n.Jobs {
			if j.Category != growth.Converged {
				return false
			}
			jobs++
		}
	}
	return jobs > 0
}

// latestConverged returns the job that converged last, which has the longest to run, by SpeCon's reasoning. A job that has
// not converged comes after all others that are allowed.
func latestConverged(jobs []Job, allowed func(Job) bool) (best Job, ok bool) {
	since := func(j Job) time.Time {
		if j.Category != growth.Converged {
			return time.Time{}
		}
		return j.Converged
	}
	for _, j := range jobs {
		if allowed(j) && (!ok || cmp.Or(since(j).Compare(since(best)), cmp.Compare(best.ID, j.ID)) > 0) {
			best, ok = j, true
		}
	}
	return best, ok
}

// relocate accounts for a move, and returns it.
func relocate(nodes []Node, m Move) Move {
	from, to := at(nodes, m.From), at(nodes, m.To)
	i := slices.IndexFunc(from.Jobs, func(j Job) bool { return j.ID == m.Job })
	job := from.Jobs[i]
	if m.Reason == Rebalancing {
		job.Rebalanced++
	} else {
		job.Speculative++
	}
	from.Jobs = slices.Delete(from.Jobs, i, i+1)
	to.Jobs = append(to.Jobs, job)
	return m
}

func at(nodes []Node, name growth.NodeName) *Node {
	return &nodes[slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })]
}

func clone(nodes []Node) []Node {
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].Jobs = slices.Clone(nodes[i].Jobs)
	}
	return nodes
}
