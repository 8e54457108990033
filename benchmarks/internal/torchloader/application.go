package torchloader

import (
	"slices"
	"time"
)

// Application is one training job.
type Application struct {
	// Architecture and Depth are the model, such as "resnet" and "18".
	Architecture string
	Depth        string
	// Batch and Workers are totals over all nodes.
	Batch   int
	Workers int
	Arrival time.Duration
	// Nodes are the nodes of the job, at least one.
	Nodes []Node
	Start Position
	End   Position
}

// Node lists the devices of a job on one node.
type Node struct {
	// Name is empty in files that do not name nodes.
	Name    string
	Devices []int
}

// Position is a point in training: an iteration of an epoch.
type Position struct{ Epoch, Iteration int }

// images is the number of ImageNet's training images, so the samples of an epoch.
const images = 1_281_167

// after returns the number of iterations from the first one to a position.
func (p Position) after(batch int) int { return p.Epoch*((images+batch-1)/batch) + p.Iteration }

// Iterations returns the number of iterations between start and end.
func (a Application) Iterations() int { return a.End.after(a.Batch) - a.Start.after(a.Batch) }

// Devices returns the number of devices on all nodes.
func (a Application) Devices() int {
	sum := 0
	for _, n := range a.Nodes {
		sum += len(n.Devices)
	}
	return sum
}

// Part is what one node has of a job.
type Part struct {
	Node    Node
	Batch   int
	Workers int
}

// Parts divides batch and workers in proportion to the devices of each node. The parts add up to the totals, except that every
// node has at least one worker.
func (a Application) Parts() []Part {
	devices := make([]int, len(a.Nodes))
	for i, n := range a.Nodes {
		devices[i] = len(n.Devices)
	}
	batches, workers := divide(a.Batch, devices), divide(a.Workers, devices)
	parts := make([]Part, len(a.Nodes))
	for i, n := range a.Nodes {
		parts[i] = Part{Node: n, Batch: batches[i], Workers: max(workers[i], 1)}
	}
	return parts
}

// divide returns whole parts of total in proportion to weights. What is left by rounding down goes to the largest remainders,
// of equal ones to the first.
func divide(total int, weights []int) []int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	parts, order, left := make([]int, len(weights)), make([]int, len(weights)), total
	for i, w := range weights {
		parts[i] = total * w / sum
		left -= parts[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return total*weights[j]%sum - total*weights[i]%sum })
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts
}
