package node

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// A node is short of CPU once its tasks wait for a CPU in more than shortPressure of the time (PSI), and no longer once they
// wait in less than amplePressure.
const shortPressure, amplePressure growth.Share = 0.25, 0.1

// observePressure decides whether the node is short of CPU. Without PSI it never is.
func (n *Node) observePressure() {
	switch p := n.pressure; {
	case p == nil || p.CPU < amplePressure:
		n.cpuShort = false
	case p.CPU > shortPressure:
		n.cpuShort = true
	}
}

// followGPUs divides the CPU of jobs whose GPU time is divided. While the node has CPU enough, requests stay as the pods
// were created. While it is short, they change in proportion to the job's part of its GPU's time, since a job that computes
// twice as long needs twice as much data.
func (n *Node) followGPUs(jobs []*job, originals []Requests) division {
	n.observePressure()
	d := division{next: n.config.Interval}
	sum := 0.0
	for i, j := range jobs {
		weight := j.pod.Total(originals[i]).Cores()
		reason := "the node is not short of CPU: the request with which the pod was created"
		if t := j.identity().gpu; n.cpuShort && t.plain > 0 {
			weight *= float64(t.share / t.plain)
			reason = fmt.Sprintf("the node is short of CPU: the request follows the job's %s of its GPU's time, %s with equal parts",
				t.share, t.plain)
		}
		sum += weight
		d.grants = append(d.grants, grant{
			category: j.category,
			weight:   weight,
			reason:   reason,
			inputs:   j.inputs(),
		})
	}
	for i := range d.grants {
		d.grants[i].share = growth.Share(d.grants[i].weight / sum)
	}
	return d
}
