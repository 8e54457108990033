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
	Name  string
	node  func() *sim.Node
	place func(c *cluster, j *job) *worker
	// moves returns what moves jobs; nil if nothing does.
	moves func() mover
}

// The names of systems that figures are about.
const (
	Default = "default"
	Trellis = "trellis"
)

// Systems returns all systems, Default first.
func Systems() []System {
	pays := func() mover { return paying{specon.DefaultRule()} }
	return []System{
		{Name: Default, node: fairNode, place: spread},
		{
			Name:  "specon-literal",
			node:  fairNode,
			place: spread,
			moves: func() mover { return &literal{map[growth.PodUID]time.Time{}} },
		},
		{Name: "specon", node: fairNode, place: spread, moves: func() mover { return corrected{} }},
		{Name: Trellis, node: harmlessNode, place: byGrowth, moves: pays},
		{Name: "trellis, placed as default", node: harmlessNode, place: spread, moves: pays},
		{Name: "trellis, placed as default, no moves", node: harmlessNode, place: spread},
		{Name: "fair shares, moves that pay", node: fairNode, place: spread, moves: pays},
	}
}

func fairNode() *sim.Node { return sim.NewNode(node.Config{Policy: policy.Fair}, workerCores, 0) }

func harmlessNode() *sim.Node {
	return sim.NewNode(node.Config{Policy: policy.Default, Objective: fairfinish.Balanced}, workerCores, 0)
}

// spread takes one of the workers with the fewest pods, as kube-scheduler does for pods with equal requests.
func spread(c *cluster, _ *job) *worker {
	return c.draw(func(w *worker) float64 { return -float64(c.pods(w)) })
}

// pods returns the number of pods on a worker, with those that are on their way.
func (c *cluster) pods(w *worker) int {
	n := len(w.jobs)
	for j := range c.moving {
		if j.on == w {
			n++
		}
	}
	return n
}

// byGrowth takes a worker by the extender's points. Each worker has one GPU, on which all jobs fit.
func byGrowth(c *cluster, _ *job) *worker {
	scorer, _ := placement.NewPolicy("growth", nil)
	request := placement.Request{Memory: growth.GiB, Count: 1, Containers: []placement.Container{{Name: "train", Units: 1}}}
	scores, normalizer := map[*worker]placement.Score{}, placement.Normalizer{}
	for _, w := range c.workers {
		score, _ := placement.ScoreNode(c.asNode(w), request, scorer)
		scores[w] = score
		normalizer.Add(score)
	}
	return c.draw(func(w *worker) float64 { return float64(normalizer.Points(scores[w])) })
}

// asNode returns a worker as the extender sees it.
func (c *cluster) asNode(w *worker) placement.Node {
	gpu := placement.GPU{UUID: "GPU-0", Memory: 1024 * growth.GiB, Healthy: true}
	for _, j := range slices.Concat(w.jobs, c.inFlight()) {
		if j.on != w {
			continue
		}
		resident := placement.Resident{Pod: j.ID(), Memory: growth.GiB, Growth: placement.NewJobGrowth, Activity: placement.NewJobActivity}
		if s := w.node.Sample(&j.Running); s.Category != "" {
			resident.Growth, resident.Category = s.Growth, s.Category
		}
		gpu.Residents = append(gpu.Residents, resident)
	}
	return placement.Node{Name: w.name, Unit: growth.GiB, GPUs: []placement.GPU{gpu}}
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
