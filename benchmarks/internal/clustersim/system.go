package clustersim

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/specon"
)

// System is a way to place, share and move jobs.
type System struct {
	Name string
	// node returns a node with this many CPUs.
	node func(cores float64) *sim.Node
	// place sets the worker of a job, and its GPU if the workers have GPUs.
	place func(c *cluster, j *job)
	// moves returns what moves jobs; nil if nothing does.
	moves func() mover
	// draws is the stream of random numbers by which equal workers are drawn.
	draws uint64
}

// The names of systems that figures are about.
const (
	Default = "default"
	Trellis = "trellis"
)

func automatically() mover { return automatic{specon.DefaultRule()} }

// shipped is the system that ships.
func shipped() System {
	return System{
		Name:  Trellis,
		node:  harmlessNode,
		place: byGrowth,
		moves: automatically,
	}
}

// Systems returns all systems, Default first.
func Systems() []System {
	return []System{
		{Name: Default, node: fairNode, place: spread},
		{
			Name:  "specon-literal",
			node:  fairNode,
			place: spread,
			moves: func() mover { return &literal{map[growth.PodUID]time.Time{}} },
		},
		{Name: "specon", node: fairNode, place: spread, moves: func() mover { return corrected{} }},
		shipped(),
		{Name: "trellis, placed as default", node: harmlessNode, place: spread, moves: automatically},
		{Name: "trellis, placed as default, no moves", node: harmlessNode, place: spread},
		{Name: "fair shares, moves that pay", node: fairNode, place: spread, moves: automatically},
		// How much the luck of the draw alone changes for a job, whose end is compared with that under Default.
		{Name: "default, drawn again", node: fairNode, place: spread, draws: 1},
	}
}

func fairNode(cores float64) *sim.Node {
	return sim.NewNode(node.Config{Policy: policy.Fair}, cores, 0)
}

func harmlessNode(cores float64) *sim.Node {
	return sim.NewNode(node.Config{Policy: policy.Default, Objective: fairfinish.Balanced, Ends: true}, cores, 0)
}

// aPod is what a pod takes from the points of its worker: less than a point, for any number of pods.
const aPod = 1e-6

// spread takes one of the workers with the fewest pods, as kube-scheduler does for pods with equal requests. It is for workers
// without GPUs.
func spread(c *cluster, j *job) {
	j.on = c.draw(func(w *worker) float64 { return -float64(w.pods()) })
}

// pods returns the number of pods on a worker, with those that are on their way.
func (w *worker) pods() int { return len(w.jobs) + len(w.coming) }

// request is that of every job. Any number of them fits on a GPU.
func request() placement.Request {
	return placement.Request{Memory: growth.GiB, Count: 1, Containers: []placement.Container{{Name: "train", Units: 1}}}
}

// byGrowth takes a worker by the extender's points, and the GPU that the extender would reserve. A point weighs more than what
// kube-scheduler adds for the requests on a node, which decides between equal points, as in spread. A worker without GPUs counts as
// one with a single GPU.
func byGrowth(c *cluster, j *job) {
	policy, normalizer := c.policy(), placement.Normalizer{}
	for _, w := range c.workers {
		c.score(w, policy)
		normalizer.Add(w.score)
	}
	c.assign(j, c.draw(func(w *worker) float64 { return float64(normalizer.Points(w.score)) - aPod*float64(w.pods()) }))
}

// assign gives a job to a worker, and the GPU there that the extender would reserve.
func (c *cluster) assign(j *job, to *worker) {
	j.on = to
	if len(to.gpus) > 0 {
		choice, _ := placement.Place(to.seen, request(), c.policy())
		j.On = []growth.GPU{choice.GPUs[0].GPU}
	}
}

// onlyGPU is that of a worker without GPUs.
const onlyGPU growth.GPU = "GPU-0"

// policy returns the policy of the extender, as of the present workers.
func (c *cluster) policy() placement.MarginalGrowth {
	var left placement.TimeLeft
	for _, w := range c.workers {
		w.see()
		for _, g := range w.seen.GPUs {
			for _, r := range g.Residents {
				left.Add(r.Left)
			}
		}
	}
	return placement.MarginalGrowth{Stay: left.Stay()}
}

// score scores a worker for a new job, if it or the policy has changed since the last time.
func (c *cluster) score(w *worker, policy placement.MarginalGrowth) {
	if w.scored == policy.Stay {
		return
	}
	w.score, _ = placement.ScoreNode(w.seen, request(), policy)
	w.scored = policy.Stay
	c.counts.Scores++
}

// see updates what the extender knows about the worker, if that has changed since the last time.
func (w *worker) see() {
	if !w.current {
		w.seen, w.current, w.scored = w.asNode(), true, never
	}
}

// asNode returns a worker as the extender sees it.
func (w *worker) asNode() placement.Node {
	n := placement.Node{Name: w.name, Unit: growth.GiB}
	for i := range max(1, len(w.gpus)) {
		gpu := placement.GPU{UUID: onlyGPU, Index: i, Memory: 1024 * growth.GiB, Healthy: true}
		if len(w.gpus) > 0 {
			gpu.UUID = w.gpus[i]
		}
		n.GPUs = append(n.GPUs, gpu)
	}
	add := func(j *job) {
		resident := placement.Resident{Pod: j.ID(), Memory: growth.GiB, Growth: placement.NewJobGrowth}
		if g, category := w.node.Growth(&j.Running); category != "" {
			resident.Growth, resident.Category, resident.Left = g, category, w.node.Left(&j.Running)
		}
		gpu := &n.GPUs[max(0, slices.IndexFunc(w.gpus, func(g growth.GPU) bool { return slices.Contains(j.On, g) }))]
		gpu.Residents = append(gpu.Residents, resident)
	}
	for _, j := range w.jobs {
		add(j)
	}
	for _, j := range w.coming {
		add(j)
	}
	return n
}

// draw returns one of the workers with the most points, as kube-scheduler draws it.
func (c *cluster) draw(points func(*worker) float64) *worker {
	var best *worker
	most, equals := 0.0, 0
	for _, w := range c.workers {
		p := points(w)
		if best == nil || p > most {
			best, most, equals = w, p, 0
		}
		if p == most {
			equals++
			if c.dice.IntN(equals) == 0 {
				best = w
			}
		}
	}
	return best
}
