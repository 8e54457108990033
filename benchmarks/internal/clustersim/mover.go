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

// expectedCost is what Rule expects of a move, in seconds.
const expectedCost = 10

func (j *job) view(fixed string) specon.Job {
	return specon.Job{
		ID:          j.ID(),
		Category:    j.category,
		Converged:   date(j.converged),
		Speculative: j.speculative,
		Rebalanced:  j.rebalanced,
		Fixed:       fixed,
		Arrived:     date(j.Arrival),
		Placed:      date(j.placed),
		Remaining:   j.Remaining(0),
		Limit:       growth.MilliCPU(1000 * j.Limit),
		Cost:        expectedCost,
		Delayed:     j.delayed,
	}
}

// everywhere is for workers whose jobs share one pool.
func everywhere(specon.Job, specon.Node) bool { return true }

// elsewhere is a job's move to another worker.
func (c *cluster) elsewhere() specon.Fits {
	on := map[growth.PodUID]*worker{}
	for _, w := range c.workers {
		for _, j := range w.jobs {
			on[j.ID()] = w
		}
	}
	return func(j specon.Job, to specon.Node) bool { return on[j.ID] != c.pools[to.Name].worker }
}

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

// paying makes the moves that pay.
type paying struct{ rule specon.Rule }

func (p paying) interval() float64 { return 10 }

func (p paying) choose(c *cluster) []specon.Move {
	c.counts.Views++
	return p.rule.Choose(c.view(), date(c.now), c.elsewhere(), len(c.moving))
}

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
