package gangs

import (
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// job is a gang with its pods.
type job struct {
	gang.Gang
	title string
	pods  map[growth.PodUID]request.Pod
	known *known
}

// find returns the gangs that have a pod without a node, in their order, and forgets all others.
func (p *Placer) find(snapshot *cache.Snapshot) []*job {
	all := map[string][]request.Pod{}
	for _, pod := range snapshot.Pods.All() {
		if pod.Gang.Name != "" && pod.Invalid == nil {
			all[pod.Gang.Name] = append(all[pod.Gang.Name], *pod)
		}
	}
	var waiting []*job
	remembered := p.gangs
	p.gangs = map[string]*known{}
	for name, pods := range all {
		j := newJob(name, pods)
		if !j.waits() {
			continue
		}
		k := remembered[name]
		if k == nil {
			k = &known{woken: map[growth.PodUID]growth.NodeName{}}
		}
		p.gangs[name] = k
		j.known, j.State = k, k.state
		waiting = append(waiting, j)
	}
	slices.SortFunc(waiting, func(a, b *job) int { return gang.Compare(a.Gang, b.Gang) })
	return waiting
}

// newJob returns the gang of pods with one name. Pods that have ended are none of its pods any more.
func newJob(name string, pods []request.Pod) *job {
	j := &job{Gang: gang.Gang{Name: name}, pods: map[growth.PodUID]request.Pod{}}
	for _, pod := range pods {
		if j.Created.IsZero() || pod.Created.Before(j.Created) {
			j.Created = pod.Created
		}
		if !pod.Ended && !pod.Deleting {
			j.title = pod.Gang.Title
			j.pods[pod.Ref.UID] = pod
		}
	}
	return j
}

// waits reports whether a pod has no node.
func (j *job) waits() bool {
	for _, pod := range j.pods {
		if pod.Node == "" {
			return true
		}
	}
	return false
}

// forget drops what is known of pods that do not wait.
func (p *Placer) forget(snapshot *cache.Snapshot, waiting []*job, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.offers, func(uid growth.PodUID, o offer) bool {
		pod, exists := snapshot.Pods.Get(uid)
		return exists && pod.Node != "" || !exists && now.Sub(o.at) > strangerAge
	})
	p.waiting = 0
	rooms := map[growth.PodUID]gang.Room{}
	for _, j := range waiting {
		if !j.known.size.single() {
			p.waiting++
		}
		for uid := range j.pods {
			if room, decided := p.rooms[uid]; decided {
				rooms[uid] = room
			}
		}
	}
	p.rooms = rooms
}

// look fills in what the pods have and what they are offered, and returns the nodes that this is about.
func (p *Placer) look(snapshot *cache.Snapshot, waiting []*job, now time.Time) map[growth.NodeName]placement.Node {
	nodes := map[growth.NodeName]placement.Node{}
	if len(waiting) == 0 {
		return nodes
	}
	held := map[growth.PodUID]gang.Pod{}
	for name := range snapshot.Nodes.All() {
		n, reservations, schedulable := p.Rooms.Current(name)
		if !schedulable {
			continue
		}
		nodes[name] = n
		for uid, r := range reservations {
			if other, twice := held[uid]; !twice || name < other.Node {
				held[uid] = gang.Pod{Node: name, GPUs: r.GPUs}
			}
		}
	}
	for _, j := range waiting {
		for _, uid := range slices.Sorted(maps.Keys(j.pods)) {
			pod := j.pods[uid]
			member := held[uid]
			member.UID, member.Request = uid, pod.Request
			member.Nodes = p.offered(uid)
			if pod.Node != "" {
				member.Node, member.Bound = pod.Node, true
			}
			j.Pods = append(j.Pods, member)
		}
		j.observe(now)
	}
	return nodes
}
