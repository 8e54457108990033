package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// A coordinator of an earlier release limited the time in which a job may compute (its duty), also below its fair share.
// The shim keeps the last duty that it was sent. A job whose sample has one is therefore sent a duty of 1.

// endDuty ends the duty that an earlier coordinator has set.
func (j *job) endDuty(sent *growth.Share) {
	if sent != nil {
		j.dutyEnded = true
	}
}

// deliverDuty sends a duty of 1 to a job that may have another one.
func (n *Node) deliverDuty(j *job) {
	if !j.dutyEnded {
		return
	}
	for _, slot := range n.Slots(j.pod.Ref.UID) {
		n.out.Duties = append(n.out.Duties, SlotDuty{Slot: slot, Duty: wire.Duty{Sequence: 1, Duty: 1}})
	}
}
