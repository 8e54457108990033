package node

import "github.com/trellis-gpu/trellis/growth"

// keepRequests divides the CPU of jobs whose GPU time is divided: in proportion to the requests with which the pods were created, also
// while the node is short of CPU.
//
// Requests that follow the shares of GPU time slow the steps of a job down that waits most of the time, also while it has its turn. The
// job then looks larger than it is, and is due later than under fair sharing.
func (n *Node) keepRequests(jobs []*job, originals []Requests) division {
	d := division{next: n.config.Interval}
	total := growth.MilliCPU(0)
	for i, j := range jobs {
		total += j.pod.Total(originals[i])
	}
	for i, j := range jobs {
		share := 1 / growth.Share(len(jobs))
		if total > 0 {
			share = growth.Share(j.pod.Total(originals[i])) / growth.Share(total)
		}
		d.grants = append(d.grants, grant{
			category: j.category,
			weight:   j.pod.Total(originals[i]).Cores(),
			share:    share,
			reason:   "the request with which the pod was created: the time of its GPU is divided instead",
			inputs:   j.inputs(),
		})
	}
	return d
}
