package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/duty"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// updateDuties divides the GPUs' time by the new shares, if Config.GPUTime is set.
func (n *Node) updateDuties(jobs []*job) {
	if !n.config.GPUTime {
		return
	}
	in := make([]duty.Job, len(jobs))
	for i, j := range jobs {
		in[i] = duty.Job{Share: j.share, GPUs: n.gpus(j.pod.Ref.UID), Duty: j.duty}
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
