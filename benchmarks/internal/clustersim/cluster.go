package clustersim

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// job is a job of the cluster.
type job struct {
	sim.Running
	on                      *worker
	placed                  float64
	speculative, rebalanced int
	category                growth.Category
	converged               float64
	monitor                 specon.Monitor
	// created is when the job's present pod was created, and history the moves that have ended.
	created time.Time
	history move.History
}

// cluster is one run of a schedule under a system.
type cluster struct {
	system  System
	workers []*worker
	named   map[growth.NodeName]*worker
	dice    *rand.Rand
	now     float64
	// intervals are those between all events so far.
	intervals []interval
	// idle has the workers until something may happen to them, awake those to which something happens now.
	idle  queue
	awake []*worker
	// moving is in the order of the jobs' IDs, and moved in that of their first moves.
	moving []transfer
	moved  []*job
	mover  mover
	// nextMoves is when moves are chosen again.
	nextMoves float64
	result    outcome
	counts    Counts
}

// outcome is what a run has shown.
type outcome struct {
	ends []float64 // seconds from arrival, by job
	// makespan is the time of the last end. unevenness is the integral of the standard deviation of utilization.
	makespan, unevenness float64
	moves                []int // by job
}

func newCluster(s Schedule, system System, seed uint64) *cluster {
	c := &cluster{system: system, dice: rand.New(rand.NewPCG(seed, 2+system.draws)), named: map[growth.NodeName]*worker{}}
	c.result = outcome{ends: make([]float64, s.Jobs), moves: make([]int, s.Jobs)}
	for i := range s.Workers {
		w := &worker{
			name:     growth.NodeName(fmt.Sprintf("worker-%d", i+1)),
			gpus:     s.gpus(),
			capacity: s.capacity(),
			node:     system.node(s.cores()),
			wake:     math.Inf(1),
			at:       absent,

			switching: s.Switching,
		}
		c.named[w.name] = w
		c.workers = append(c.workers, w)
	}
	c.awake = slices.Clone(c.workers)
	if system.moves != nil {
		c.mover = system.moves()
	}
	return c
}

// run runs the jobs, which are in the order of their arrival.
func (c *cluster) run(jobs []sim.Job) outcome {
	arrived, left := 0, len(jobs)
	for left > 0 {
		c.decide()
		next := math.Inf(1)
		if arrived < len(jobs) {
			next = jobs[arrived].Arrival
		}
		left -= c.advance(c.nextChange(next))
		for arrived < len(jobs) && jobs[arrived].Arrival <= c.now {
			c.arrive(&job{
				Running:  sim.Running{Job: jobs[arrived], Index: arrived},
				category: growth.Progressing,
				created:  date(jobs[arrived].Arrival),
			})
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

// decide lets the workers decide to which something has happened, and puts them back into the queue.
func (c *cluster) decide() {
	for _, w := range c.awake {
		if w.decide(c.now) {
			c.counts.Decisions++
		}
		w.setDue(c.now)
		heap.Push(&c.idle, w)
	}
	c.awake = c.awake[:0]
}

// touch takes a worker out of the queue, to which something happens now.
func (c *cluster) touch(w *worker) {
	c.counts.Steps += w.catchUp(c.intervals)
	if w.at != absent {
		heap.Remove(&c.idle, w.at)
		c.awake = append(c.awake, w)
	}
}

// nextChange returns the time of the next event, at most next.
func (c *cluster) nextChange(next float64) float64 {
	if c.mover != nil {
		next = min(next, c.nextMoves)
	}
	for _, m := range c.moving {
		next = min(next, m.end())
	}
	for len(c.idle) > 0 && c.idle[0].due <= next {
		w := c.idle[0]
		c.touch(w)
		next = min(next, w.wake, w.nextEnd(c.now))
	}
	return next
}

// advance lets time pass until the next event and returns how many jobs have ended.
func (c *cluster) advance(to float64) int {
	seconds := to - c.now
	c.result.unevenness += c.deviation() * seconds
	c.now = to
	c.intervals = append(c.intervals, newInterval(seconds))
	c.counts.Events++
	ended := 0
	for _, w := range c.awake {
		c.counts.Steps += w.catchUp(c.intervals)
		for _, j := range w.finish() {
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
		sum += w.busy
		squares += w.busy * w.busy
	}
	return math.Sqrt(max(0, squares/n-sum/n*sum/n))
}

// arrive places a new job.
func (c *cluster) arrive(j *job) {
	c.system.place(c, j)
	c.start(j)
}

// start starts a job on its worker.
func (c *cluster) start(j *job) {
	c.touch(j.on)
	j.on.add(j, c.now)
}

func date(seconds float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(growth.Seconds(seconds).Duration())
}
