package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// saturatedPart is the part of a node's CPU from which the node counts as saturated. The rest covers what the kernel and
// system pods use.
const saturatedPart growth.Share = 0.9

// training measures the cores that the training processes of a job keep busy.
type training struct {
	use   loader.TrainingUse
	cpu   growth.Seconds // the pod's CPU time at the last measurement
	steps int64          // the steps at that time
	at    time.Time
	known bool
}

// measureTraining adds an interval to the measurement of each job. It must follow the update of all usages.
func (n *Node) measureTraining(usages map[growth.PodUID]Usage) {
	saturated := n.saturated()
	for uid, j := range n.jobs {
		usage, ok := usages[uid]
		if !ok || !usage.CPUKnown {
			j.training.known = false
			continue
		}
		before := j.training
		j.training.cpu, j.training.steps, j.training.at, j.training.known = usage.CPU, j.counter.steps, n.now, true
		if !before.known {
			continue
		}
		used := growth.Work(usage.CPU - before.cpu)
		j.training.use = before.use.Add(loader.Interval{
			Length:    growth.Seconds(n.now.Sub(before.at).Seconds()),
			Used:      used - min(max(0, used), n.loading(j, j.counter.steps-before.steps)),
			Workers:   n.workers(j),
			Saturated: saturated,
		})
	}
}

// workers returns the number of a job's data-loader workers. A job that does not report it has none that are known, so
// all of its CPU counts as training.
func (n *Node) workers(j *job) int {
	if j.running.Loaders == nil {
		return 0
	}
	return *j.running.Loaders * n.trainingProcesses(j)
}

// loading returns the CPU that the training processes of a job without workers may have used to load the data of its steps. Workers
// would use it in their place, so the budget has it.
func (n *Node) loading(j *job, steps int64) growth.Work {
	if j.running.Loaders == nil || *j.running.Loaders > 0 || steps <= 0 {
		return 0
	}
	return growth.Work(growth.Seconds(steps)*j.rates.load) * growth.Work(n.trainingProcesses(j))
}

// trainingProcesses returns the number of a job's training processes: as many as report, and one per GPU.
func (n *Node) trainingProcesses(j *job) int {
	return max(j.settings.processes(), len(n.gpus(j.pod.Ref.UID)))
}

// saturated reports whether the jobs use nearly all CPU of the node, except exclusive cores.
func (n *Node) saturated() bool {
	var used growth.MilliCPU
	for uid, j := range n.jobs {
		if n.exclusive[uid] == 0 {
			used += j.used
		}
	}
	return n.allocatable > 0 && used >= saturatedPart.Of(n.allocatable-n.exclusiveCPU())
}

func (n *Node) trainingOf(j *job) loader.Training {
	return loader.Training{Processes: n.trainingProcesses(j), Threads: j.pod.Threads, Use: j.training.use}
}
