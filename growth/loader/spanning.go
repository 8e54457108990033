package loader

import (
	"cmp"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Node is a node with the jobs that have devices on this node only.
type Node struct {
	// Budget is the number of cores for workers.
	Budget int
	Jobs   []Job
}

// Spanning is a job with devices on several nodes. Each of its devices gets the same number of workers, because a
// synchronous step ends when the slowest rank ends.
type Spanning struct {
	UID    growth.PodUID
	Weight Weight
	// Widths is the number of devices on each node.
	Widths map[growth.NodeName]int
	// Curve is the throughput per device of the slowest rank.
	Curve Curve
}

// Slowest returns the curve of a job whose ranks have these curves. It ends where the shortest of them ends.
func Slowest(curves ...Curve) Curve {
	if len(curves) == 0 {
		return nil
	}
	slowest := slices.Clone(slices.MinFunc(curves, func(a, b Curve) int { return cmp.Compare(len(a), len(b)) }))
	for w := range slowest {
		for _, c := range curves {
			slowest[w] = min(clampRate(slowest[w]), c.At(w))
		}
	}
	return slowest
}

// Value returns the value of the job with w workers per device.
func (s Spanning) Value(w int) float64 {
	devices := 0
	for _, width := range s.Widths {
		devices += max(1, width)
	}
	return Job{Weight: s.Weight, Width: devices, Curve: s.Curve}.Value(w)
}

// AllocateNodes divides the budgets of nodes among their jobs and the jobs that span them. It tries each number of
// workers of the spanning jobs, and divides what they leave of each node alone. The result has the largest possible
// total value if there are few spanning jobs; see search.
func AllocateNodes(nodes map[growth.NodeName]Node, spanning []Spanning) Allocation {
	spanning = slices.SortedFunc(slices.Values(spanning), func(a, b Spanning) int { return cmp.Compare(a.UID, b.UID) })
	s := newSearch(nodes, spanning)
	s.run()
	allocation := Allocation{}
	for i, job := range spanning {
		allocation[job.UID] = s.workers[i]
	}
	for i, name := range s.names {
		maps.Copy(allocation, Allocate(nodes[name].Jobs, s.left[i]))
	}
	return allocation
}
