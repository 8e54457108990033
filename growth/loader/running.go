package loader

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Running is a running pod with its workers.
type Running struct {
	Job
	// Gang identifies the job of several pods that this pod belongs to; empty for a job of one pod. All processes of a
	// job get the same number of workers, and its throughput is that of its slowest pod.
	Gang string
	// Loaders is the number of workers per device that the job runs with or was last advised to use.
	Loaders int
	// Advised is set if Loaders was advised. Otherwise the job chose it.
	Advised bool
	// Unchanged is the time since Loaders last changed.
	Unchanged time.Duration
	// Limit is the largest number of workers per device that fit in the job's shared memory; nil without a limit. The
	// Curve of a measured job ends there.
	Limit *int
	// Remaining is the predicted remaining time of the job.
	Remaining growth.Seconds
	// RebuildTime is the time that the job's last change of its DataLoader has cost it; nil if none was measured.
	RebuildTime *growth.Seconds
}

// RunningNode is a node with its running pods.
type RunningNode struct {
	Name    growth.NodeName
	Budget  int
	Running []Running
}

// cores returns the number of cores that the present workers use.
func (n RunningNode) cores() int {
	cores := 0
	for _, r := range n.Running {
		cores += max(1, r.Width) * r.Loaders
	}
	return cores
}

// Plan is the number of workers for each pod of some nodes.
type Plan struct {
	Loaders Allocation
	// Before is the value of the present allocation, After the value of Loaders.
	Before, After float64
	// Reason explains the change, or why there is none.
	Reason string
}

// podOnNode is a pod with the index of its node.
type podOnNode struct {
	Running
	node int
}

// runningJob is a job with all of its pods.
type runningJob struct{ pods []podOnNode }

// jobsOf returns the jobs of nodes, each with its pods in the order of their UIDs.
func jobsOf(nodes []RunningNode) []runningJob {
	var jobs []runningJob
	gangs := map[string]int{}
	for node, n := range nodes {
		for _, r := range n.Running {
			pod := podOnNode{Running: r, node: node}
			if i, known := gangs[r.Gang]; known && r.Gang != "" {
				jobs[i].pods = append(jobs[i].pods, pod)
				continue
			}
			gangs[r.Gang] = len(jobs)
			jobs = append(jobs, runningJob{pods: []podOnNode{pod}})
		}
	}
	for _, j := range jobs {
		slices.SortFunc(j.pods, func(a, b podOnNode) int { return cmp.Compare(a.UID, b.UID) })
	}
	return jobs
}

func (j runningJob) uid() growth.PodUID { return j.pods[0].UID }

// spans reports whether the job has several pods.
func (j runningJob) spans() bool { return len(j.pods) > 1 }

// measured reports whether each pod has a curve.
func (j runningJob) measured() bool {
	return !slices.ContainsFunc(j.pods, func(r podOnNode) bool { return len(r.Curve) == 0 })
}

// weight is the smallest of the pods' weights: only the pod that reports the metric knows how much the job still grows.
func (j runningJob) weight() Weight {
	return slices.MinFunc(j.pods, func(a, b podOnNode) int { return cmp.Compare(a.Weight, b.Weight) }).Weight
}

// value returns the value of the job under an allocation: that of all devices at the rate of the slowest pod.
func (j runningJob) value(a Allocation) float64 {
	rate, width := growth.PerSecond(math.Inf(1)), 0
	for _, r := range j.pods {
		rate = min(rate, r.Curve.At(a[r.UID]))
		width += max(1, r.Width)
	}
	return Job{Weight: j.weight(), Width: width}.valueOf(rate)
}

func (j runningJob) unchanged() time.Duration {
	return slices.MinFunc(j.pods, func(a, b podOnNode) int { return cmp.Compare(a.Unchanged, b.Unchanged) }).Unchanged
}

// remaining returns the remaining time of the job, in seconds.
func (j runningJob) remaining() float64 {
	longest := 0.0
	for _, r := range j.pods {
		longest = max(longest, float64(r.Remaining))
	}
	return longest
}

// rebuildTime returns the time of a rebuild of all pods: that of the slowest one.
func (j runningJob) rebuildTime(prior growth.Seconds) growth.Seconds {
	longest := growth.Seconds(0)
	for _, r := range j.pods {
		if r.RebuildTime == nil {
			longest = max(longest, prior)
		} else {
			longest = max(longest, *r.RebuildTime)
		}
	}
	return longest
}

// totalValue returns the value of all jobs under an allocation.
func totalValue(jobs []runningJob, a Allocation) float64 {
	total := 0.0
	for _, j := range jobs {
		total += j.value(a)
	}
	return total
}
