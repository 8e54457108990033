package advise

import (
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/loader"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// nodePlan is a node with the jobs that may get advice.
type nodePlan struct {
	name   growth.NodeName
	budget int
	// candidates report their number of workers, unreported never have.
	candidates, unreported []candidate
}

// plan collects the jobs of a node. The workers of jobs that must not be tuned are subtracted from the budget.
func (a *Adviser) plan(node history.Node, jobs []history.Job, now time.Time) nodePlan {
	p := nodePlan{name: node.Name, budget: node.Load.LoaderBudget}
	for _, j := range jobs {
		loaders, reported := a.currentLoaders(j)
		if j.Sample.ExclusiveCores > 0 {
			continue // its workers run on its own cores, which are not in the budget
		}
		switch tunable := slices.Contains(j.Sample.Tunable, string(gpushare.TuneLoaders)); {
		case tunable && reported:
			p.candidates = append(p.candidates, a.candidate(j, loaders, now))
		case tunable:
			p.unreported = append(p.unreported, candidate{Job: j})
		case reported:
			p.budget -= loaders * processes(j)
		}
	}
	return p
}

// divide divides the budgets of nodes that jobs span, or of one node, and returns the changes of advice.
func (a *Adviser) divide(nodes []nodePlan) []Change {
	running := make([]loader.RunningNode, len(nodes))
	for i, n := range nodes {
		running[i] = loader.RunningNode{Name: n.name, Budget: n.budget}
		for _, c := range n.candidates {
			running[i].Running = append(running[i].Running, c.running)
		}
	}
	plan := a.Policy.Divide(running)
	var changes []Change
	for _, n := range nodes {
		changes = append(changes, n.changes(plan)...)
	}
	return changes
}

// changes returns the changes of advice of one node.
func (n nodePlan) changes(plan loader.Plan) []Change {
	free := n.budget
	for _, c := range n.candidates {
		free -= c.running.Width * plan.Loaders[c.UID]
	}
	var changes []Change
	for _, c := range n.candidates {
		loaders := plan.Loaders[c.UID]
		limit := c.limitedBy(loaders, free)
		switch {
		case loaders != c.running.Loaders:
			change := c.change(loaders, fmt.Sprintf("%d → %d data-loader workers: %s; %s", c.running.Loaders, loaders,
				plan.Reason, c.forecast(loaders)))
			change.Advice.Limit = limit
			changes = append(changes, change)
		case limit != "" && (c.Advice == nil || c.Advice.Limit == ""):
			changes = append(changes, c.explainLimit(limit))
		}
	}
	if n.budget <= 0 { // workers would exceed the budget, and setting 0 before they start costs nothing
		for _, c := range n.unreported {
			if !advisesLoaders(c.Job) {
				changes = append(changes,
					c.change(0, "no data-loader workers: training processes use every core of the node"))
			}
		}
	}
	return changes
}
