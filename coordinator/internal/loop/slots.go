package loop

import "github.com/trellis-gpu/trellis/growth"

// syncSlots opens the sockets of all containers that kubelet has given a slot, and closes those of jobs that ended.
func (l *Loop) syncSlots() {
	wanted := map[string]growth.PodUID{}
	listed := map[growth.PodUID]bool{}
	for _, a := range l.allocations.Values {
		listed[a.Pod.UID] = true
		if l.ended[a.Pod.UID] {
			continue
		}
		for _, c := range a.Containers {
			if c.Slot != "" && (wanted[c.Slot] == "" || l.jobs[a.Pod.UID] != nil) {
				wanted[c.Slot] = a.Pod.UID
			}
		}
	}
	for slot, owner := range l.owners {
		if wanted[slot] != owner { // a new owner gets a socket that knows nothing of the old one
			l.ports.Sockets.Close(slot)
			delete(l.owners, slot)
		}
	}
	for slot, owner := range wanted {
		if err := l.ports.Sockets.Open(l.ctx, slot); err != nil {
			l.log.Debug("a slot is not open yet", "slot", slot, "reason", err)
			continue
		}
		if l.owners[slot] != owner {
			l.owners[slot] = owner
			if j := l.jobs[owner]; j != nil {
				l.deliver(j)
			}
		}
	}
	for uid := range l.ended {
		if !listed[uid] && l.allocations.Synced {
			delete(l.ended, uid)
		}
	}
}

// slots are a job's open ones.
func (l *Loop) slots(uid growth.PodUID) []string {
	var slots []string
	for slot, owner := range l.owners {
		if owner == uid {
			slots = append(slots, slot)
		}
	}
	return slots
}
