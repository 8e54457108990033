package loader

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// measureTime is the time constant of TrainingUse: older intervals lose their weight within a few of it.
	measureTime growth.Seconds = 60
	// measured is the weight of measurements from which a TrainingUse is known.
	measured = 0.5
	// maxCores bounds a measurement. No node has more cores.
	maxCores = 1 << 14
)

// TrainingUse estimates how many cores the training processes of one job keep busy, from the CPU that the whole job uses.
// The zero value has no measurement.
//
// Each data-loader worker counts as one core, which the budget has for it. If the workers are partly idle, the estimate is
// too low by their idle time. The sum of both still is the CPU that the job uses, so no core is assigned twice.
type TrainingUse struct {
	busy   float64 // decayed mean, in cores
	begun  bool
	weight float64 // of the measurements while CPUs were idle, 0 to 1
}

// Interval is one measurement of a job.
type Interval struct {
	Length growth.Seconds
	// Used is the CPU that all processes of the job have used, in core-seconds, less what the training processes of a job without
	// workers have loaded themselves.
	Used growth.Work
	// Workers is the number of the job's data-loader workers, in all of its processes.
	Workers int
	// Saturated is set if the node had no idle CPU. The job may then have used less than its threads could.
	Saturated bool
}

// Add returns the estimate after one more interval. An interval without idle CPUs is a lower bound: it can raise the
// estimate but not lower it.
func (u TrainingUse) Add(i Interval) TrainingUse {
	if !(i.Length > 0) || !(i.Used >= 0) {
		return u
	}
	busy := min(maxCores, max(0, float64(i.Used)/float64(i.Length)-float64(max(0, i.Workers))))
	if i.Saturated && u.begun && busy <= u.busy {
		return u
	}
	part := 1 - math.Exp(-float64(i.Length/measureTime))
	if !u.begun {
		u.busy = busy
	}
	u.busy += part * (busy - u.busy)
	u.begun = true
	if !i.Saturated {
		u.weight += part * (1 - u.weight)
	}
	return u
}

// Training describes the training processes of a job.
type Training struct {
	// Processes is their number.
	Processes int
	// Threads is the size of the thread pools of each process; 0 if unknown.
	Threads int
	// Use is what they were measured to use.
	Use TrainingUse
}

// Cores returns the number of cores that the training processes take. Each takes at least one: it keeps that core busy,
// and a worker on the same core would slow down both. Processes whose threads keep more cores busy take those too.
//
// Thread pools count if the use is not measured and the node is saturated: the contention hides what the threads would use.
// Elsewhere they do not count, because the threads of a process that computes on a GPU are idle.
func (t Training) Cores(saturated bool) int {
	return max(t.Processes, int(math.Round(max(t.Use.busy, t.pools(saturated)))))
}

// pools returns the cores that the thread pools of the job may take, 0 where they do not count.
func (t Training) pools(saturated bool) float64 {
	if !saturated || t.Use.weight >= measured {
		return 0
	}
	return float64(t.Processes) * float64(t.Threads)
}

// CoresInTurns returns the number of cores that the training processes of jobs take that share GPUs in turns, atOnce processes at
// a time. The use of a job was measured over all of its time, also that in which it waited, so the uses of all jobs add up to that
// of those that have the turn.
func CoresInTurns(atOnce int, jobs []Training, saturated bool) int {
	var busy, pools float64
	for _, t := range jobs {
		busy += t.Use.busy
		pools = max(pools, t.pools(saturated))
	}
	return max(atOnce, int(math.Round(max(busy, pools))))
}
