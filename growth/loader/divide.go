package loader

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// DefaultLoaders is the number of workers per device for a job that cannot be measured. It is the common
// recommendation.
const DefaultLoaders = 4

// assignUnmeasured assigns workers to the jobs without a Curve and returns the cores that are left on each node for the
// others.
//
// An unmeasured job keeps its workers. On an overloaded node it gets at most an equal part of the budget. A job that
// was advised to use fewer and does not report how long it waits for data gets the default number once cores are
// available: its original number is not known any more. A job that spans nodes gets the least of what they have for it.
func (p ChangePolicy) assignUnmeasured(nodes []RunningNode, jobs []runningJob, overload map[growth.NodeName]string) (
	assigned Allocation, rest []RunningNode) {
	assigned = Allocation{}
	rest = append(rest, nodes...)
	for _, j := range jobs {
		if j.measured() {
			continue
		}
		loaders := MaxLoaders
		for _, r := range j.pods {
			_, overloaded := overload[nodes[r.node].Name]
			loaders = min(loaders, p.unmeasured(r.Running, nodes[r.node], overloaded))
		}
		for _, r := range j.pods {
			assigned[r.UID] = loaders
			rest[r.node].Budget -= max(1, r.Width) * loaders
		}
	}
	return assigned, rest
}

// unmeasured returns what a node has for a pod without a Curve.
func (p ChangePolicy) unmeasured(r Running, n RunningNode, overloaded bool) int {
	equalPart := max(0, n.Budget) / len(n.Running) / max(1, r.Width)
	switch {
	case overloaded:
		return min(r.Loaders, equalPart)
	case r.Advised && r.Unchanged >= p.Dwell:
		return max(r.Loaders, min(equalPart, DefaultLoaders, r.limit()))
	}
	return r.Loaders
}

// allocateMeasured divides the budgets of nodes among the measured jobs.
func allocateMeasured(jobs []runningJob, nodes []RunningNode) Allocation {
	if len(nodes) == 1 && !slices.ContainsFunc(jobs, runningJob.spans) {
		return Allocate(ownJobs(jobs, 0), nodes[0].Budget)
	}
	byName := map[growth.NodeName]Node{}
	for i, n := range nodes {
		byName[n.Name] = Node{Budget: n.Budget, Jobs: ownJobs(jobs, i)}
	}
	var spanning []Spanning
	for _, j := range jobs {
		if j.spans() && j.measured() {
			spanning = append(spanning, j.spanning(nodes))
		}
	}
	allocation := AllocateNodes(byName, spanning)
	for _, j := range jobs {
		if j.spans() && j.measured() {
			for _, r := range j.pods {
				allocation[r.UID] = allocation[j.uid()]
			}
		}
	}
	return allocation
}

// ownJobs returns the measured jobs with devices on one node only.
func ownJobs(jobs []runningJob, node int) []Job {
	var own []Job
	for _, j := range jobs {
		if !j.spans() && j.measured() && j.pods[0].node == node {
			own = append(own, j.pods[0].Job)
		}
	}
	return own
}

// spanning returns the job for AllocateNodes.
func (j runningJob) spanning(nodes []RunningNode) Spanning {
	job := Spanning{UID: j.uid(), Weight: j.weight(), Widths: map[growth.NodeName]int{}}
	var curves []Curve
	for _, r := range j.pods {
		job.Widths[nodes[r.node].Name] += max(1, r.Width)
		curves = append(curves, r.Curve)
	}
	job.Curve = Slowest(curves...)
	return job
}
