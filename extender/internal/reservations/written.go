package reservations

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// written are the reservations that this replica has written for one node.
type written struct {
	pods map[growth.PodUID]timed
	// oldest is the oldest snapshot that pods complete. It is the newest basis of any of them.
	oldest  bus.Revision
	updated time.Time
}

type timed struct {
	Versioned
	at time.Time
}

// add adds a reservation, and removes those that every snapshot of interest shows.
func (w *written) add(basis bus.Revision, r timed) {
	w.oldest, w.updated = max(w.oldest, basis), r.at
	for pod, other := range w.pods {
		if other.Revision <= w.oldest {
			delete(w.pods, pod)
		}
	}
	w.pods[r.Pod.UID] = r
}

// since returns the reservations that are newer than a snapshot, or nil if they do not complete it.
func (w *written) since(snapshot bus.Revision) map[growth.PodUID]Versioned {
	if w == nil || snapshot < w.oldest {
		return nil
	}
	newer := map[growth.PodUID]Versioned{}
	for pod, r := range w.pods {
		if r.Revision <= snapshot {
			continue
		}
		if time.Since(r.at) > maxLag {
			return nil
		}
		newer[pod] = r.Versioned
	}
	return newer
}
