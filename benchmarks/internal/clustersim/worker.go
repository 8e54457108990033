package clustersim

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
)

// worker is a node of the cluster with its jobs.
type worker struct {
	name    growth.NodeName
	node    *sim.Node
	jobs    []*job
	ended   []*sim.Running
	cores   []float64 // by job
	wake    float64
	changed bool
	// use is the utilization of its CPU, smoothed.
	use float64
}

// running returns the jobs as its node sees them.
func (w *worker) running() []*sim.Running {
	all := make([]*sim.Running, len(w.jobs))
	for i, j := range w.jobs {
		all[i] = &j.Running
	}
	return all
}

// decide divides the CPU, if that is due.
func (w *worker) decide(now float64) {
	if !w.changed && now < w.wake {
		return
	}
	w.changed = false
	if len(w.jobs) == 0 {
		w.node.Settle(now, w.ended)
		w.ended, w.cores, w.wake = nil, nil, math.Inf(1)
		return
	}
	cores, next := w.node.Decide(now, w.running(), w.ended)
	w.ended, w.cores, w.wake = nil, cores, now+next
}

// nextEnd returns when the next of its jobs ends, if nothing changes.
func (w *worker) nextEnd(now float64) float64 {
	next := math.Inf(1)
	for i, j := range w.jobs {
		next = min(next, now+(j.Work-j.Done)/w.cores[i])
	}
	return next
}

// utilization returns the part of its CPU that is used.
func (w *worker) utilization() float64 {
	sum := 0.0
	for _, c := range w.cores {
		sum += c
	}
	return sum / workerCores
}

// smoothing is the time constant of use, in seconds.
const smoothing = 30

// advance lets time pass and returns the jobs that end at its end.
func (w *worker) advance(seconds float64) (ended []*job) {
	w.use += (w.utilization() - w.use) * (1 - math.Exp(-seconds/smoothing))
	var left []*job
	for i, j := range w.jobs {
		j.Done += w.cores[i] * seconds
		if j.Work-j.Done > dust {
			left = append(left, j)
			continue
		}
		w.ended = append(w.ended, &j.Running)
		ended = append(ended, j)
	}
	if len(ended) > 0 {
		w.jobs, w.changed = left, true
		w.cores = nil
	}
	return ended
}

// dust is work too small to matter, in core-seconds.
const dust = 1e-6

// remove takes a job away that moves.
func (w *worker) remove(moving *job) {
	var left []*job
	for _, j := range w.jobs {
		if j != moving {
			left = append(left, j)
		}
	}
	w.jobs, w.cores, w.changed = left, nil, true
	w.node.Leave(&moving.Running)
}

// add starts a job. The node's shares are in the order of the jobs' IDs.
func (w *worker) add(j *job, now float64) {
	j.Elsewhere = j.Done
	j.placed = now
	at, _ := slices.BinarySearchFunc(w.jobs, j, func(a, b *job) int { return a.Index - b.Index })
	w.jobs, w.cores, w.changed = slices.Insert(w.jobs, at, j), nil, true
}
