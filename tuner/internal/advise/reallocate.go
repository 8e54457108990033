package advise

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// observe returns the updated turnover of a node.
func (a *Adviser) observe(name growth.NodeName, jobs []history.Job, now time.Time) *loader.Turnover {
	turnover := a.turnover[name]
	if turnover == nil {
		turnover = &loader.Turnover{}
	}
	pods := make(map[growth.PodUID]bool, len(jobs))
	for _, j := range jobs {
		pods[j.UID] = j.Advice != nil
	}
	turnover.Observe(pods, now)
	return turnover
}

// mayDivide reports whether the workers on nodes that jobs span, or on one node, may change now. An event on one of the
// nodes concerns all of them. Departures are collected, unless a node runs more workers than it has cores for.
func (a *Adviser) mayDivide(nodes []nodePlan, now time.Time) bool {
	allowed := slices.ContainsFunc(nodes, func(n nodePlan) bool { return a.turnover[n.name].Allows(a.Reallocate, now) })
	collects := slices.ContainsFunc(nodes, func(n nodePlan) bool { return a.turnover[n.name].Collects(now) })
	return allowed && (!collects || slices.ContainsFunc(nodes, nodePlan.overloaded))
}

// overloaded reports whether the node runs more workers than its budget.
func (n nodePlan) overloaded() bool {
	cores := 0
	for _, c := range n.candidates {
		cores += c.running.Width * c.running.Loaders
	}
	return cores > n.budget
}
