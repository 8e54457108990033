package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/resize"
)

// effectTime is the time in which a new request must change the weight of the pod's cgroup.
const effectTime = 30 * time.Second

// unapplied records that the last resize has not changed the weight yet.
type unapplied struct {
	since  time.Time
	weight int64
	before Requests // the request that corresponds to the weight
}

// observeEffect records whether a resize has changed the weight. A later resize does not restart the wait.
func (n *Node) observeEffect(j *job, e ResizeFinished) {
	if e.Verified || e.Weight == 0 || n.config.DirectWeights {
		j.unapplied = nil
		if j.refusal.Any && e.Verified && e.Resize.To != j.refusal.InForce {
			j.refusal = resize.Refusal{}
		}
		return
	}
	if j.unapplied == nil || j.unapplied.weight != e.Weight {
		j.unapplied = &unapplied{since: n.now, weight: e.Weight, before: e.Resize.Before}
	}
}

// checkEffect treats a request without an effect like a refused one. While kubelet reports that the resize is pending,
// it is not.
func (n *Node) checkEffect(j *job) {
	u := j.unapplied
	switch {
	case u == nil || j.wanted == nil:
	case j.usage.Weight != u.weight || !sameContainers(u.before, j.wanted):
		j.unapplied = nil // it was applied late
	case j.pod.ResizeStatus.Reason != "":
		u.since = n.now
	case n.now.Sub(u.since) >= effectTime || j.refusal.Any:
		j.unapplied = nil
		n.refuse(j, u.before, objection{by: "no effect", outcome: "goes back to", any: true, why: fmt.Sprintf(
			"It had no effect: the weight of the pod's cgroup is still %d. Check kubelet's log, and whether another program writes to the cgroup",
			u.weight)})
	}
}
