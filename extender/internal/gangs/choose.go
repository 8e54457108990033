package gangs

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/growth/gang"
)

// choose returns the gangs that a pass decides about, by name. kube-scheduler has asked this replica for them lately. The pod of a
// gang of one is free. A gang that lacks a pod waits, unless it holds room.
func (p *Placer) choose(ctx context.Context, waiting []*job, now time.Time) map[string]*job {
	known := map[string]*job{}
	var candidates []gang.Gang
	for _, j := range waiting {
		known[j.Name] = j
		if p.decides(j, now) && (j.Holds() || !j.gated()) {
			candidates = append(candidates, j.Gang)
		}
	}
	window, last := gang.Window(candidates, p.last, maxGangs)
	p.last = last
	chosen := map[string]*job{}
	for _, g := range window {
		j := known[g.Name]
		size, read := p.sizeOf(ctx, j, now)
		j.Size = size
		missing := size - len(j.Pods)
		switch {
		case !read:
			p.setRooms(j, gang.Room{Wait: "the size of " + j.title + " has not been read yet, and its pods are placed together"})
		case size < 2:
			p.setRooms(j, gang.Room{})
		case missing > 0 && !j.Holds():
			p.setRooms(j, gang.Room{Wait: wait(j, gang.Decision{Missing: missing}, p.Limits)})
		default:
			chosen[j.Name] = j
		}
	}
	return chosen
}

// decides reports whether this replica decides about a gang: kube-scheduler asks the replica of the scheduler that leads.
func (p *Placer) decides(j *job, now time.Time) bool {
	for pod := range j.pods {
		if at := p.asked(pod); !at.IsZero() && now.Sub(at) < offerAge {
			return true
		}
	}
	return false
}

// gated reports whether kube-scheduler does not consider a pod yet.
func (j *job) gated() bool {
	for _, pod := range j.pods {
		if pod.Gated && pod.Node == "" {
			return true
		}
	}
	return false
}

func (p *Placer) setRooms(j *job, room gang.Room) {
	for pod := range j.pods {
		p.setRoom(pod, room)
	}
}
