package clustersim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// job is a job of the cluster.
type job struct {
	sim.Running
	on                      *worker
	placed                  float64
	speculative, rebalanced int
	delayed                 growth.Seconds
	category                growth.Category
	converged               float64
	monitor                 specon.Monitor
}

// cluster is one run of a schedule under a system.
type cluster struct {
	system  System
	workers []*worker
	dice    *rand.Rand
	now     float64
	// moving are the jobs on their way to on, with the times of their arrival.
	moving map[*job]float64
	mover  mover
	// nextMoves is when moves are chosen again.
	nextMoves float64
	result    outcome
}

// outcome is what a run has shown.
type outcome struct {
	ends []float64 // seconds from arrival, by job
	// makespan is the time of the last end. unevenness is the integral of the standard deviation of utilization.
	makespan, unevenness float64
	moves                []int // by job
}

func newCluster(s Schedule, system System, seed uint64) *cluster {
	c := &cluster{system: system, dice: rand.New(rand.NewPCG(seed, 2)), moving: map[*job]float64{}}
	c.result = outcome{ends: make([]float64, s.Jobs), moves: make([]int, s.Jobs)}
	for i := range s.Workers {
		name := growth.NodeName(fmt.Sprintf("worker-%d", i+1))
		c.workers = append(c.workers, &worker{name: name, node: system.node(), wake: math.Inf(1)})
	}
	if system.moves != nil {
		c.mover = system.moves()
	}
	return c
}

// run runs the jobs, which are in the order of their arrival.
func (c *cluster) run(jobs []sim.Job) outcome {
	arrived, left := 0, len(jobs)
	for left > 0 {
		for _, w := range c.workers {
			w.decide(c.now)
		}
		next := c.nextChange()
		if arrived < len(jobs) {
			next = min(next, jobs[arrived].Arrival)
		}
		left -= c.advance(next)
		for arrived < len(jobs) && jobs[arrived].Arrival <= c.now {
			c.arrive(&job{Running: sim.Running{Job: jobs[arrived], Index: arrived}, category: growth.Progressing})
			arrived++
		}
		c.land()
		if c.mover != nil && c.now >= c.nextMoves {
			c.nextMoves = c.now + c.mover.interval()
			c.observe()
			c.move(c.mover.choose(c))
		}
	}
	c.result.makespan = c.now
	return c.result
}

// nextChange returns the time of the next event that is not an arrival of a new job.
func (c *cluster) nextChange() float64 {
	next := math.Inf(1)
	if c.mover != nil {
		next = c.nextMoves
	}
	for _, w := range c.workers {
		next = min(next, w.wake, w.nextEnd(c.now))
	}
	for _, at := range c.moving {
		next = min(next, at)
	}
	return next
}

// advance lets time pass until the next event and returns how many jobs have ended.
func (c *cluster) advance(to float64) int {
	seconds := to - c.now
	c.result.unevenness += c.deviation() * seconds
	c.now = to
	ended := 0
	for _, w := range c.workers {
		for _, j := range w.advance(seconds) {
			c.result.ends[j.Index] = c.now - j.Arrival
			c.result.moves[j.Index] = j.speculative + j.rebalanced
			ended++
		}
	}
	return ended
}

// deviation returns the standard deviation of the workers' utilization.
func (c *cluster) deviation() float64 {
	n, sum, squares := float64(len(c.workers)), 0.0, 0.0
	for _, w := range c.workers {
		u := w.utilization()
		sum += u
		squares += u * u
	}
	return math.Sqrt(max(0, squares/n-sum/n*sum/n))
}

// arrive places a new job.
func (c *cluster) arrive(j *job) {
	j.on = c.system.place(c, j)
	j.on.add(j, c.now)
}

// land starts jobs that have moved.
func (c *cluster) land() {
	for _, j := range c.inFlight() {
		if c.moving[j] <= c.now {
			delete(c.moving, j)
			j.on.add(j, c.now)
		}
	}
}

// inFlight returns the jobs that are moving, in the order of their arrival.
func (c *cluster) inFlight() []*job {
	all := make([]*job, 0, len(c.moving))
	for j := range c.moving {
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *job) int { return a.Index - b.Index })
	return all
}

// move starts moves.
func (c *cluster) move(moves []specon.Move) {
	for _, m := range moves {
		from, to := c.worker(m.From), c.worker(m.To)
		i := slices.IndexFunc(from.jobs, func(j *job) bool { return j.ID() == m.Job })
		if i < 0 || from == to {
			continue // it has ended or is moving, or it stays
		}
		j := from.jobs[i]
		if m.Reason == specon.Rebalancing {
			j.rebalanced++
		} else {
			j.speculative++
		}
		from.remove(j)
		j.on = to
		c.moving[j] = c.now + max(5, min(11, 8+1.5*c.dice.NormFloat64()))
	}
}

func (c *cluster) worker(name growth.NodeName) *worker {
	return c.workers[slices.IndexFunc(c.workers, func(w *worker) bool { return w.name == name })]
}

func date(seconds float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(growth.Seconds(seconds).Duration())
}
