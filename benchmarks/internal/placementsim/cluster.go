package placementsim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Layout is the GPUs of a cluster.
type Layout struct {
	Nodes, GPUs int // GPUs of each node
	Memory      growth.MiB
}

// How the nodes measure: each set every so many seconds, with a relative error.
const (
	measureSeconds = growth.Seconds(20)
	measureError   = 0.05
)

// cluster is one run of a workload under a policy.
type cluster struct {
	layout  Layout
	speeds  Speeds
	sharing Sharing
	policy  Policy
	learner *learner
	dice    *rand.Rand
	kinds   []interference.Kind

	now     float64
	gpus    []gpu
	waiting []*running
	ends    []float64 // by job
	good    float64   // seconds until jobs were good, in all
}

func newCluster(e Experiment, p Policy, seed uint64) *cluster {
	c := &cluster{
		layout:  e.Layout,
		speeds:  e.Speeds,
		sharing: e.Sharing,
		policy:  p,
		learner: newLearner(p),
		dice:    rand.New(rand.NewPCG(seed, 2)),
		gpus:    make([]gpu, e.Layout.Nodes*e.Layout.GPUs),
		ends:    make([]float64, e.Workload.Jobs),
	}
	for _, k := range e.Speeds.Kinds {
		c.kinds = append(c.kinds, interference.KindOf("sim", k.Name))
	}
	return c
}

// run returns the mean time until a job has ended, and until it has made 95 % of its improvement, both from its arrival, in seconds.
func (c *cluster) run(jobs []Job) (completion, good float64) {
	arrived, left := 0, len(jobs)
	for left > 0 {
		next := c.nextChange()
		if arrived < len(jobs) {
			next = min(next, jobs[arrived].Arrival)
		}
		c.advance(next)
		for arrived < len(jobs) && jobs[arrived].Arrival <= c.now {
			c.waiting = append(c.waiting, &running{Job: jobs[arrived], id: arrived})
			arrived++
		}
		left -= c.finish()
		c.schedule()
	}
	sum := 0.0
	for i, j := range jobs {
		sum += c.ends[i] - j.Arrival
	}
	return sum / float64(len(jobs)), c.good / float64(len(jobs))
}

// nextChange returns when the next job ends or the next set has been measured.
func (c *cluster) nextChange() float64 {
	next := math.Inf(1)
	for i := range c.gpus {
		g := &c.gpus[i]
		for _, j := range g.jobs {
			next = min(next, c.now+(j.Work-j.done)/j.speed)
		}
		if c.learner != nil && len(g.jobs) > 1 {
			next = min(next, g.measured+float64(measureSeconds))
		}
	}
	return next
}

func (c *cluster) advance(to float64) {
	for i := range c.gpus {
		g := &c.gpus[i]
		for _, j := range g.jobs {
			before := j.done
			j.done += j.speed * (to - c.now)
			if before < j.Need && j.done >= j.Need {
				c.good += c.now + (j.Need-before)/j.speed - j.Arrival
			}
		}
		if c.learner != nil && len(g.jobs) > 1 && to >= g.measured+float64(measureSeconds) {
			g.measured = to
			c.learner.observe(g.measure(c))
		}
	}
	c.now = to
}

// finish removes the jobs that have ended, and returns their number.
func (c *cluster) finish() int {
	const dust = 1e-9
	ended := 0
	for i := range c.gpus {
		g := &c.gpus[i]
		for at := len(g.jobs) - 1; at >= 0; at-- {
			j := g.jobs[at]
			if j.Work-j.done > dust {
				continue
			}
			c.ends[j.id] = c.now
			g.remove(j, c.now)
			ended++
		}
		c.share(g)
	}
	return ended
}

// schedule tries the waiting jobs in order.
func (c *cluster) schedule() {
	var waiting []*running
	for _, j := range c.waiting {
		g := c.place(j)
		if g == nil {
			waiting = append(waiting, j)
			continue
		}
		g.add(j, c.now)
		c.share(g)
	}
	c.waiting = waiting
}

// place returns the GPU for a job, nil if it fits nowhere.
func (c *cluster) place(j *running) *gpu {
	request := placement.Request{
		Kind:       c.kinds[j.Kind],
		Memory:     c.memory(j.Kind),
		Count:      1,
		Containers: []placement.Container{{Name: "train", Units: int(c.memory(j.Kind) / growth.GiB)}},
	}
	policy := c.policy.scores(c.learner, c.now, c.stay())
	node, found := c.bestNode(request, policy)
	if !found {
		return nil
	}
	choice, _ := placement.Place(c.node(node), request, policy)
	for i, g := range c.node(node).GPUs {
		if g.UUID == choice.GPUs[0].GPU {
			return &c.gpus[node*c.layout.GPUs+i]
		}
	}
	return nil
}

// stay returns for how long a new job is compared with others.
func (c *cluster) stay() growth.Seconds {
	var left placement.TimeLeft
	for i := range c.gpus {
		for _, j := range c.gpus[i].jobs {
			left.Add(j.left())
		}
	}
	return left.Stay()
}

// bestNode returns one of the nodes with most points, as kube-scheduler draws it.
func (c *cluster) bestNode(r placement.Request, p placement.Policy) (best int, found bool) {
	scores, normalizer := map[int]placement.Score{}, placement.Normalizer{}
	for n := range c.layout.Nodes {
		if score, status := placement.ScoreNode(c.node(n), r, p); status.Fits() {
			scores[n] = score
			normalizer.Add(score)
		}
	}
	most, equals := int64(-1), 0
	for n := range c.layout.Nodes {
		score, fits := scores[n]
		if !fits {
			continue
		}
		points := normalizer.Points(score)
		if points > most {
			best, most, equals = n, points, 0
		}
		if points == most {
			equals++
			if c.dice.IntN(equals) == 0 {
				best = n
			}
		}
	}
	return best, len(scores) > 0
}

// node returns a node as the extender sees it.
func (c *cluster) node(at int) placement.Node {
	n := placement.Node{Name: growth.NodeName(fmt.Sprint("node-", at)), Unit: growth.GiB}
	for i := range c.layout.GPUs {
		n.GPUs = append(n.GPUs, placement.GPU{
			UUID:      growth.GPU(fmt.Sprint("GPU-", i)),
			Index:     i,
			Memory:    c.layout.Memory,
			Healthy:   true,
			Residents: c.gpus[at*c.layout.GPUs+i].residents(c),
		})
	}
	return n
}
