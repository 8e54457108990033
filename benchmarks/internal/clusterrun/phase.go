package clusterrun

import (
	"slices"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Phase is one way to run the jobs.
type Phase string

// All phases, in their order.
const (
	Alone    Phase = "alone"
	Together Phase = "together"
	Default  Phase = "default"
	Trellis  Phase = "trellis"
)

// Phases returns all phases in their order.
func Phases() []Phase { return []Phase{Alone, Together, Default, Trellis} }

// policy returns the share policy of the coordinators.
func (p Phase) policy() policy.Name {
	if p == Trellis {
		return policy.Default
	}
	return policy.Fair
}

// extender returns the variables of the extender. Jobs of equal memory are placed as by kube-scheduler if GPUs with the most free memory come
// first.
func (p Phase) extender(checkpoints string) map[string]string {
	if p == Trellis {
		return map[string]string{"TRELLIS_POLICY": "growth", "TRELLIS_MOVES": "automatic", "TRELLIS_SHARED_HOST_PATHS": checkpoints}
	}
	return map[string]string{"TRELLIS_POLICY": "spread", "TRELLIS_MOVES": "off", "TRELLIS_SHARED_HOST_PATHS": checkpoints}
}

// nodePrefix and a number from 1 are the name of a node of a local cluster.
const nodePrefix = "node-"

// start is when a job is submitted in a phase: at a time since the start, after another job has ended, or both.
type start struct {
	workload.Job
	after string
	node  string // where it runs; empty for the scheduler's choice
}

// starts returns the submissions of a phase. Alone, each node runs one job after the other, the longest jobs first, and the next job goes
// to the node with the fewest steps. Together, each node runs the same jobs at the same time.
func (p Phase) starts(all workload.Workload, nodes int) []start {
	starts := make([]start, len(all))
	for i, j := range all {
		starts[i] = start{Job: j}
	}
	if p != Alone && p != Together {
		return starts
	}
	steps, last := make([]int, nodes), make([]string, nodes)
	slices.SortStableFunc(starts, func(a, b start) int { return b.Steps - a.Steps })
	for i := range starts {
		n := slices.Index(steps, slices.Min(steps))
		starts[i].Arrival, starts[i].node = 0, nodePrefix+strconv.Itoa(n+1)
		if p == Alone {
			starts[i].after = last[n]
		}
		steps[n] += starts[i].Steps
		last[n] = starts[i].Name
	}
	return starts
}

// due reports whether it is time to submit a job.
func (s start) due(since time.Duration, ended map[string]time.Duration) bool {
	_, done := ended[s.after]
	return since >= s.Arrival && (s.after == "" || done)
}
