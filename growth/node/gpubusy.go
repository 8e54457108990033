package node

import (
	"fmt"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// GPUBusy is what the driver has measured of the pods' use of GPUs. The zero value means that nothing is measured.
type GPUBusy struct {
	// At is the time of the measurement, from any start that stays the same.
	At growth.Seconds
	// GPUs has the GPUs that are measured, and the pods that have used them.
	GPUs map[growth.GPU]map[growth.PodUID]BusyTime
	// Memory is what the processes of each pod have on one GPU, the one where they have most.
	Memory map[growth.PodUID]growth.MiB
}

// BusyTime is the use of one GPU by one pod.
type BusyTime struct {
	// Kernels is the time in which kernels of the pod were running, since any start.
	Kernels growth.Seconds
	// Processes is the number of processes of the pod that use the GPU.
	Processes int
}

const (
	// busyMean is the time over which the measured part of a job is averaged, busyAfter the time that must be measured
	// before it counts.
	busyMean, busyAfter growth.Seconds = 30, 10
	// A job that is never paused leaves the rest to turns while it takes less than fitsBelow of its part under plain
	// sharing. Jobs that take turns next to it continue until it takes more than that part.
	fitsBelow = 0.85
)

// gpuBusy is the measured use of a job's GPUs, as the mean of them.
type gpuBusy struct {
	at, kernels growth.Seconds // of the last measurement
	measured    growth.Seconds // time that was measured without a gap
	part        growth.Share   // of the time of its GPUs, recently
	processes   int            // the most on one GPU
	owed        growth.Seconds // time of kernels that the job was not charged yet
}

// known reports whether the job's part of the time was measured for long enough.
func (b gpuBusy) known() bool { return b.measured >= busyAfter }

// measure adds a measurement. It returns the time in which kernels of the job have run since the last one.
func (b *gpuBusy) measure(at, kernels growth.Seconds) growth.Seconds {
	elapsed, ran := at-b.at, kernels-b.kernels
	began := b.at == 0
	if !began && elapsed == 0 {
		return 0 // there is no newer measurement
	}
	b.at, b.kernels = at, kernels
	if began || elapsed < 0 || ran < 0 { // the counters have started again
		b.measured = 0
		return 0
	}
	ran = min(ran, elapsed)
	newest := 1 - math.Exp(-float64(elapsed/busyMean))
	if b.measured == 0 {
		newest = 1
	}
	b.part += growth.Share(newest) * (growth.Share(ran/elapsed) - b.part)
	b.measured += elapsed
	return ran
}

// due returns which part of the time of a job's kernels is charged at this look, some time after the last one. The driver's records
// are late, so they may name more time than has passed since the last look. The rest is due at the next look.
func (b *gpuBusy) due(kernels, elapsed growth.Seconds) growth.Seconds {
	all := b.owed + kernels
	now := min(all, max(elapsed, 0))
	b.owed = min(all-now, outsideLag)
	return now
}

// readBusy reads the measured use of a job. It is unknown unless all of its GPUs are measured.
func (n *Node) readBusy(j gpuJob, busy GPUBusy) (kernels growth.Seconds, known bool) {
	total, processes := growth.Seconds(0), 0
	for _, gpu := range j.gpus {
		uses, ok := busy.GPUs[gpu]
		if !ok {
			j.gpu.busy = gpuBusy{}
			return 0, false
		}
		here := 0
		for _, pod := range j.pods {
			use := uses[pod.pod.Ref.UID]
			total += use.Kernels
			here += use.Processes
		}
		processes = max(processes, here)
	}
	j.gpu.busy.processes = processes
	return j.gpu.busy.measure(busy.At, total/j.width()), true
}

// holdAlways decides which jobs of a group compute all the time next to jobs that take turns. It returns the first job
// for which that would not be plain sharing for the others, and why.
//
// Such a job has no more of its GPUs than it would have under plain sharing, as long as it takes less than its part there:
// then it is limited by something else. Otherwise each of the others would compete with it alone, and together they would
// get as much as each of them gets now.
func (n *Node) holdAlways(g *gpuGroup) (growth.PodUID, string) {
	for i := range g.jobs {
		g.jobs[i].always = 0
	}
	if len(g.jobs) < 2 {
		return "", ""
	}
	plain := g.plainShares()
	turning := slices.ContainsFunc(g.jobs, func(j gpuJob) bool { return j.gpu.paused })
	for i := range g.jobs {
		j := &g.jobs[i]
		why := n.unpausable(*j)
		if why == "" {
			continue
		}
		bound := plain[i]
		if !turning {
			bound *= fitsBelow
		}
		switch {
		case !j.gpu.busy.known():
			why += ", and the driver does not measure how much it computes"
		case j.gpu.busy.part >= bound:
			why += fmt.Sprintf(", and it takes as much of its GPU's time as it can get: %s", j.gpu.busy.part)
		default:
			j.always = max(j.gpu.busy.part, 0.01)
			continue
		}
		return j.pod.Ref.UID, fmt.Sprintf("%s cannot be paused, because %s", j.pod.Ref, why)
	}
	return "", ""
}

// announceAlways records once that a job computes next to jobs that take turns.
func (n *Node) announceAlways(j gpuJob) {
	n.event(j.job, oncePerJob, false, "GPUTimeMeasured",
		fmt.Sprintf("The job computes all the time, next to jobs that take turns, because %s. It is charged what the driver measures, "+
			"%s of the time of %s now, and the other jobs share the rest", n.unpausable(j), j.always, gpuNames(j.gpus)))
	n.announceCores(j.job, "the job computes all the time, because "+n.unpausable(j))
}
