package loop

import (
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// readUsages reads the cgroups of all jobs. A job whose cgroup cannot be read is absent.
func (l *Loop) readUsages() map[growth.PodUID]node.Usage {
	jobs := l.node.Jobs()
	now := time.Now()
	read := make(map[growth.PodUID]node.Usage, len(jobs))
	last := make(map[growth.PodUID]cgroup.Usage, len(jobs))
	for _, j := range jobs {
		uid := j.Pod.UID
		usage, err := l.ports.Usages.Usage(uid, now)
		if err != nil {
			l.log.Debug("a job's usage cannot be read", "job", j.Pod.String(), "err", err)
			last[uid] = l.usages[uid]
			continue
		}
		read[uid] = usageOf(usage)
		last[uid] = usage
	}
	l.usages = last
	return read
}

// gpuUse reads what the jobs have used of their GPUs.
func (l *Loop) gpuUse() map[growth.PodUID]node.GPUUse {
	if l.ports.Turns == nil {
		return nil
	}
	return l.ports.Turns.Use()
}

// gpuBusy reads what the driver has measured.
func (l *Loop) gpuBusy() node.GPUBusy {
	if l.ports.Busy == nil {
		return node.GPUBusy{}
	}
	return l.ports.Busy.Busy()
}

func usageOf(u cgroup.Usage) node.Usage {
	return node.Usage{
		CPU:               u.CPU,
		CPUKnown:          u.CPUKnown,
		Memory:            u.Memory,
		SharedMemory:      u.SharedMemory,
		SharedMemoryKnown: u.SharedMemoryKnown,
		Weight:            u.Weight,
		BlockIO:           u.BlockIO,
		NetworkIO:         u.NetworkIO,
		Stalled:           node.Stalled(u.Stalled),
		Queued:            u.Queued,
		QueuedKnown:       u.QueuedKnown,
	}
}

// setGauges sets the metrics of the jobs that run.
func (l *Loop) setGauges() {
	jobs := l.node.Jobs()
	counts := map[growth.Category]int{}
	usages := make([]metrics.JobUsage, 0, len(jobs))
	var gpuTimes []metrics.JobGPUTime
	for _, j := range jobs {
		counts[j.Category]++
		usage := metrics.JobUsage{Pod: j.Pod, Usage: l.usages[j.Pod.UID]}
		if j.GPUMemory != nil {
			usage.GPUMemory = j.GPUMemory.Peak
		}
		usages = append(usages, usage)
		if j.GPU != nil {
			gpuTimes = append(gpuTimes, metrics.JobGPUTime{Pod: j.Pod, Time: *j.GPU})
		}
	}
	l.metrics.Jobs(counts)
	l.metrics.SetUsages(usages)
	l.metrics.SetGPUTimes(gpuTimes)
}
