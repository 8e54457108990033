package gangs

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// holding is the reservation of a pod that is not bound, as this replica has seen it.
type holding struct {
	node  growth.NodeName
	since time.Time
	// theirs is when this replica first saw a reservation that another one had made. It is zero for its own, and for one that is
	// older than what it knows of the gang.
	theirs time.Time
}

// observe updates what is known of the reservations of a gang.
func (j *job) observe(now time.Time) {
	firstLook := j.known.held == nil
	held := map[growth.PodUID]holding{}
	for _, member := range j.Pods {
		if member.Node == "" || member.Bound {
			continue
		}
		h := j.known.held[member.UID]
		if h.node != member.Node {
			h = holding{node: member.Node, since: now}
			if !firstLook {
				h.theirs = now
			}
		}
		held[member.UID] = h
	}
	j.known.held = held
}

// mayRelease reports whether this replica may release the reservation of a pod. It may not if another replica has reserved since
// kube-scheduler last asked this one: the other one is then that of the scheduler that leads.
func (p *Placer) mayRelease(j *job, pod growth.PodUID, now time.Time) bool {
	h := j.known.held[pod]
	return h.theirs.IsZero() || p.asked(pod).After(h.theirs) || p.outlived(h, now)
}

// outlived reports whether a reservation is older than any that a gang holds: the replica that made it has ended.
func (p *Placer) outlived(h holding, now time.Time) bool {
	return now.Sub(h.since) >= p.Limits.Longest()
}

// releaseOutlived releases what other replicas have left of a gang that this replica does not decide about.
func (p *Placer) releaseOutlived(ctx context.Context, j *job, now time.Time) {
	if j.Running() {
		return // a pod of it may be bound at this moment
	}
	for pod, h := range j.known.held {
		if p.outlived(h, now) {
			p.Log.Info("the room of a gang is released: the replica that reserved it has ended", "pod", j.pods[pod].Ref, "node", h.node)
			p.Rooms.Release(ctx, j.pods[pod].Ref, h.node)
		}
	}
}
