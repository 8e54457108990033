package specon

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Job is a job that runs on a node.
type Job struct {
	ID       growth.PodUID
	Category growth.Category
	// Converged is when the job last became Converged.
	Converged time.Time
	// Speculative and Rebalanced count its moves so far, by their reason.
	Speculative, Rebalanced int
	// Fixed says why the job cannot be moved; empty if it can.
	Fixed string

	// The rest is for forecasts: Rule needs it, and Corrected compares gain and cost where Remaining is known.

	// Arrived is when the job first ran, and Placed when it came to its node; for Rule only, as Delayed.
	Arrived, Placed time.Time
	// Remaining is the work to its end, in the unit of its node.
	Remaining remaining.Estimate
	// Limit is the most CPU that it can use at once, or in thousandths of the GPU.
	Limit growth.MilliCPU
	// Overlap has the speeds of its kernels next to those of other jobs, where they run at the same time.
	Overlap fairfinish.Overlap
	// Cost is what a move of the job takes: save, evict, place and restore.
	Cost growth.Seconds
	// Pull returns what a move to a node takes in addition, for images that the node does not have; for Rule only, which asks for moves
	// that pay without. Nil means nothing.
	Pull func(on growth.NodeName) growth.Seconds
	// Delayed is by how much earlier moves to its node have delayed its end, as predicted.
	Delayed growth.Seconds
}

// moves is the number of times that the job has moved.
func (j Job) moves() int { return j.Speculative + j.Rebalanced }

// Node is a node with its jobs.
type Node struct {
	Name growth.NodeName
	Jobs []Job
	// Use is the smoothed utilization of its CPU, which ranks nodes with equal scores.
	Use growth.Share
	// CPU is what its jobs can use together; for forecasts.
	CPU growth.MilliCPU
	// GPU is set if the jobs share the time of this GPU and not CPU. A GPU counts as a node with one core. For forecasts.
	GPU growth.GPU
}

// unit is that of the work of its jobs.
func (n Node) unit() growth.Unit {
	if n.GPU != "" {
		return growth.GPUSecond
	}
	return growth.CoreSecond
}

// Reason says why a job moves.
type Reason string

const (
	// Speculative moves take a converged job away from jobs that still learn.
	Speculative Reason = "Speculative"
	// Rebalancing moves even out the number of jobs of nodes.
	Rebalancing Reason = "Rebalancing"
	// Faster moves end jobs earlier.
	Faster Reason = "Faster"
)

// Move is a decision to move a job.
type Move struct {
	Job      growth.PodUID
	From, To growth.NodeName
	Reason   Reason
	// Gain is by how much earlier all jobs end together, and Cost what the move takes; for Rule only, as Delay.
	Gain, Cost growth.Seconds
	// Delay is the longest time by which a job of known size at the target ends later.
	Delay growth.Seconds
}

// Fits reports whether a node has room for a job: memory, GPUs, volumes. The extender's filter decides that on a cluster.
type Fits func(job Job, on Node) bool

// Weight returns a job's part of its node's score.
func Weight(c growth.Category) float64 {
	switch c {
	case growth.Converged:
		return 1
	case growth.Watching:
		return 1.5
	}
	return 2
}

// Score returns the sum of the weights of a node's jobs, which is lowest on the node with the most room to learn.
func (n Node) Score() float64 {
	sum := 0.0
	for _, j := range n.Jobs {
		sum += Weight(j.Category)
	}
	return sum
}

// maxMoves bounds the moves of a job: SpeCon's one speculative move, and one to rebalance.
const maxMoves = 2
