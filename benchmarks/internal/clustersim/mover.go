package clustersim

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// mover chooses moves every interval, in seconds.
type mover interface {
	interval() float64
	choose(c *cluster) []specon.Move
}

// expectedCost is what SpeCon expects of a move, in seconds.
const expectedCost = 10

// view returns the workers as package specon sees them. Moving jobs are on their targets.
func (c *cluster) view() []specon.Node {
	nodes := make([]specon.Node, len(c.workers))
	for i, w := range c.workers {
		n := specon.Node{Name: w.name, Use: growth.Share(w.use), CPU: growth.MilliCPU(w.capacity) * growth.Core}
		for _, j := range w.jobs {
			n.Jobs = append(n.Jobs, j.view(""))
		}
		for _, j := range w.coming {
			n.Jobs = append(n.Jobs, j.view("it is moving"))
		}
		nodes[i] = n
	}
	return nodes
}

func (j *job) view(fixed string) specon.Job {
	return specon.Job{
		ID:          j.ID(),
		Category:    j.category,
		Converged:   date(j.converged),
		Speculative: j.speculative,
		Rebalanced:  j.rebalanced,
		Fixed:       fixed,
		Remaining:   j.Remaining(0),
		Limit:       growth.MilliCPU(1000 * j.Limit),
		Cost:        expectedCost,
	}
}

// everywhere is for jobs any number of which fits on a worker.
func everywhere(specon.Job, specon.Node) bool { return true }

// settle is the time for which a moved job keeps its category, until its new node has observed it; in seconds.
const settle = 60

// observe lets all workers catch up, and takes the categories that their nodes have published.
func (c *cluster) observe() {
	for _, w := range c.workers {
		c.counts.Steps += w.catchUp(c.intervals)
		for _, j := range w.jobs {
			if j.speculative+j.rebalanced > 0 && c.now < j.placed+settle {
				continue
			}
			_, category := w.node.Growth(&j.Running)
			if category == growth.Converged && j.category != growth.Converged {
				j.converged = c.now
			}
			if category != "" {
				j.category = category
			}
		}
	}
}

// corrected is SpeCon without its defects.
type corrected struct{}

func (corrected) interval() float64               { return 10 }
func (corrected) choose(c *cluster) []specon.Move { return specon.Corrected(c.view(), everywhere) }

// literal is SpeCon as published.
type literal struct{ decided map[growth.PodUID]time.Time }

// The parameters of SpeCon's evaluation.
const (
	literalInterval = 30
	literalAlpha    = 0.01
)

func (*literal) interval() float64 { return literalInterval }

// observe puts the jobs into categories by Algorithm 3, and returns those that ask to be moved.
func (l *literal) choose(c *cluster) (moves []specon.Move) {
	nodes, undecided := c.literalView(), false
	for _, w := range c.workers {
		for _, j := range w.jobs {
			value, ok := j.Latest()
			asks := ok && j.monitor.Observe(value, literalAlpha)
			if asks {
				if m, decides := specon.Literal(nodes, w.name, j.ID()); decides {
					j.monitor.Migrated = true
					l.decided[j.ID()] = date(c.now)
					moves = append(moves, m)
				}
			}
			undecided = undecided || !j.monitor.Migrated
		}
	}
	if len(moves) == 0 && !undecided && len(c.moving) == 0 {
		return specon.LiteralRebalance(nodes, l.decided)
	}
	return moves
}

// literalView is view with the categories of Algorithm 3.
func (c *cluster) literalView() []specon.Node {
	nodes := c.view()
	for i, w := range c.workers {
		for k, j := range w.jobs {
			nodes[i].Jobs[k].Category = j.monitor.Category
		}
	}
	return nodes
}
