package sim

import (
	"maps"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Node is one node of a simulated cluster, whose jobs come and go. It divides cores like a Machine, or the time of GPUs if its
// jobs are on GPUs.
type Node struct {
	policy alertNode
	cores  float64
	gone   []*Running
	// charge records the use of GPUs by the jobs of the last decision.
	charge func(i int, seconds float64)
}

// NewNode returns a node with this many cores. Sizes that jobs declare are wrong by up to errors.
func NewNode(config node.Config, cores, errors float64) *Node {
	return &Node{policy: alertNode{newNode(config, cores, errors)}, cores: cores}
}

// Decide divides the cores or GPUs among the running jobs, at least one. ended lists jobs that have ended since the previous call.
// It returns the work of each job per second, and the time to the next decision in seconds.
func (n *Node) Decide(now float64, running, ended []*Running) (rates []float64, next float64) {
	shares, next := n.policy.Decide(now, running, append(n.gone, ended...))
	n.gone = nil
	rates, n.charge = compute(running, shares, n.cores, n.policy)
	return rates, next
}

// Charge records the use of GPUs by job i of the last decision, for some seconds.
func (n *Node) Charge(i int, seconds float64) { n.charge(i, seconds) }

// Leave takes a job away that continues elsewhere.
func (n *Node) Leave(r *Running) {
	n.gone = append(n.gone, r.copy())
	n.policy.gpus.free(r)
	delete(n.policy.known, r.Index)
}

// Growth returns the growth and the category that the node has published about a job, zero values for an unknown job.
func (n *Node) Growth(r *Running) (growth.Growth, growth.Category) {
	g, category, _ := n.policy.node.Growth(id(r))
	return g, category
}

// Left returns the time to the end of a job that the node has published; 0 for an unknown one.
func (n *Node) Left(r *Running) growth.Seconds {
	sample, _, err := n.policy.node.Sample(id(r))
	if err != nil {
		return 0
	}
	return placement.LeftOf(sample)
}

// Settle takes note of jobs that have left, on a node without a job to decide about.
func (n *Node) Settle(now float64, ended []*Running) {
	for _, r := range append(n.gone, ended...) {
		n.policy.step(date(now), r.deleted())
	}
	n.gone = nil
}

// Restart begins the job's life on another node, which counts its work and its use of GPUs from there.
func (r *Running) Restart() {
	r.Elsewhere = r.Done
	r.Held, r.Waited, r.Together = 0, 0, nil
}

// Remaining returns the work to the job's end as the node predicts it.
func (r *Running) Remaining(errors float64) remaining.Estimate {
	left := remaining.FromDeclared(growth.Work(r.Work*r.Wrong), growth.Work(r.Done), errors)
	left.Unit = r.unit()
	return left
}

// ID returns the UID under which nodes know the job.
func (r *Running) ID() growth.PodUID { return id(r) }

// Latest returns the last loss that the job has reported, relative to its first one.
func (r *Running) Latest() (loss float64, ok bool) {
	for _, l := range r.Losses {
		if l.After*r.Work > r.Done {
			break
		}
		loss, ok = l.Value/r.Losses[0].Value, true
	}
	return loss, ok
}

// copy returns the job as it is now.
func (r *Running) copy() *Running {
	now := *r
	now.Together = maps.Clone(r.Together)
	return &now
}

// startPart is the part of a job's work before its first step, as of bench-flowcon's jobs.
const startPart = 0.02

// Recorded returns a job of a kind with a recorded loss: of two, take 0 or 1. length is relative to the usual number of steps,
// 0.5 to 1.5.
func Recorded(kind string, take int, length float64, j Job) Job {
	j.Kind, j.Steps, j.Start, j.Wrong = kind, float64(workload.UsualSteps(kind))*length, j.Work*startPart, 1
	j.Losses = j.recorded(take)
	j.Need = j.Work * goodAfter(j.Losses)
	return j
}
