package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/duty"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// updateDuties divides the GPUs' time by the new shares, if Config.GPUTime is set.
func (n *Node) updateDuties(jobs []*job) {
	if !n.config.GPUTime {
		return
	}
	jobs, shares := n.gpuShares(jobs)
	in := make([]duty.Job, len(jobs))
	for i, j := range jobs {
		in[i] = duty.Job{Share: shares[i], GPUs: n.gpus(j.pod.Ref.UID), Duty: j.duty}
	}
	for i, d := range duty.Decide(in) {
		j := jobs[i]
		if d == j.duty || (d == 1 && j.duty == 0) {
			continue
		}
		n.log(Info, "GPU time", "job", j.pod.Ref, "from", j.duty, "to", d)
		n.setDuty(j, d)
		n.deliverDuty(j)
	}
}

// gpuShares adds the jobs that permit tuning but whose CPU cannot be tuned. Such a job takes part with the fair share of
// the node, and the other jobs with their shares of the rest.
func (n *Node) gpuShares(jobs []*job) (all []*job, shares []growth.Share) {
	all = slices.Clone(jobs)
	for _, j := range n.sorted() {
		if !j.tunable() && j.spec.Allows(gpushare.TuneCPU) && !j.pod.Ended() {
			all = append(all, j)
		}
	}
	rest := growth.Share(len(jobs)) / growth.Share(max(len(all), 1))
	for i, j := range all {
		share := j.share * rest
		if i >= len(jobs) {
			share = 1 / growth.Share(len(all))
		}
		shares = append(shares, share)
	}
	return all, shares
}

func (n *Node) setDuty(j *job, d growth.Share) {
	j.duty = d
	j.dutySequence++
}

// deliverDuty sends a job its duty. A job that has never been sent a duty is not limited.
func (n *Node) deliverDuty(j *job) {
	if j.duty == 0 {
		return
	}
	for _, slot := range n.slotsOf(j.pod.Ref.UID) {
		n.out.Duties = append(n.out.Duties, SlotDuty{Slot: slot, Duty: wire.Duty{Sequence: j.dutySequence, Duty: j.duty}})
	}
}

// resumeDuty continues with the duty that an earlier coordinator sent, which is still in force. If GPU time is no
// longer divided, it sets the duty to 1.
func (n *Node) resumeDuty(j *job, sent *growth.Share) {
	if sent == nil {
		return
	}
	n.setDuty(j, *sent)
	if !n.config.GPUTime {
		j.duty = 1
	}
}
