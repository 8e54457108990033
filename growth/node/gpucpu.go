package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// A node is short of CPU once its tasks wait for a CPU in more than shortPressure of the time, and no longer once they wait in less
// than amplePressure.
const shortPressure, amplePressure growth.Share = 0.25, 0.1

// observePressure decides whether the node is short of CPU. Where nothing is measured it never is.
func (n *Node) observePressure() {
	switch waits, known := n.waitsForCPU(); {
	case !known || waits < amplePressure:
		n.cpuShort = false
	case waits > shortPressure:
		n.cpuShort = true
	}
}

// waitsForCPU returns the part of the time in which some task waited for a CPU, as the kernel measures it (PSI). Without PSI it is that
// of the job that waited most.
func (n *Node) waitsForCPU() (part growth.Share, known bool) {
	if n.pressure != nil {
		return n.pressure.CPU, true
	}
	for _, j := range n.jobs {
		if queued := j.traffic.queued; queued != nil {
			part, known = max(part, *queued), true
		}
	}
	return part, known
}

// followGPUs divides the CPU of jobs whose GPU time is divided. While the node has CPU enough, requests stay as the pods
// were created. While it is short, they change in proportion to the job's part of its GPU's time, since a job that computes
// twice as long needs twice as much data, and no job has less than its steps need in that time, as far as all needs together fit.
func (n *Node) followGPUs(jobs []*job, originals []Requests) division {
	n.observePressure()
	d := division{next: n.config.Interval}
	weights, needs, total := make([]float64, len(jobs)), make([]float64, len(jobs)), 0.0
	for i, j := range jobs {
		original := j.pod.Total(originals[i]).Cores()
		weights[i], total = original, total+original
		reason := "the node is not short of CPU: the request with which the pod was created"
		if t := j.identity().gpu; n.cpuShort && t.plain > 0 {
			weights[i] *= float64(t.share / t.plain)
			needs[i] = n.cpuNeed(j)
			reason = fmt.Sprintf("the node is short of CPU: the request follows the job's %s of its GPU's time, %s with equal parts",
				t.share, t.plain)
		}
		d.grants = append(d.grants, grant{category: j.category, reason: reason, inputs: j.inputs()})
	}
	for i, cores := range withFloors(weights, needs, total) {
		g := &d.grants[i]
		g.weight, g.share = cores, growth.Share(cores/total)
		if needs[i] > 0 && cores <= needs[i] {
			g.reason = fmt.Sprintf("the node is short of CPU: this is what steps and data loaders need, in the job's %s of its GPU's time", jobs[i].identity().gpu.share)
		}
	}
	return d
}

// cpuNeed returns the cores that a pod's processes, data loaders included, use for as many steps as the job makes in its part of the
// time of its GPUs; 0 if it is not known.
func (n *Node) cpuNeed(j *job) (cores float64) {
	perStep, _ := j.cost.perStep()
	onGPU, _ := j.identity().gpu.cost.perStep()
	if perStep <= 0 || onGPU <= 0 {
		return 0
	}
	_, whole, known := n.groupOf(j)
	if !known {
		return 0
	}
	steps := whole.gpu.share * growth.Share(whole.width()) / growth.Share(onGPU) // per second
	return float64(steps) * float64(perStep)
}
