package gangs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/placement"
)

const (
	// interval is the time between two passes.
	interval = time.Second
	// maxGangs bounds the gangs without room that one pass considers.
	maxGangs = 128
	// offerAge is how long an offer counts. kube-scheduler asks again after five and a half minutes at the latest, unless it no
	// longer leads.
	offerAge = 6 * time.Minute
	// strangerAge is how long an offer to a pod that no snapshot shows is remembered.
	strangerAge = time.Minute
)

// Cluster has the current snapshot of the cluster.
type Cluster interface{ Snapshot() *cache.Snapshot }

// Rooms reserves GPU memory.
type Rooms interface {
	Current(node growth.NodeName) (placement.Node, map[growth.PodUID]bus.Reservation, bool)
	Reserve(ctx context.Context, pod request.Pod, node growth.NodeName) (bus.Reservation, bus.Revision, error)
	Release(ctx context.Context, pod growth.PodRef, node growth.NodeName)
	PlacementPolicy() placement.Policy
}

// Placer places gangs. Run is for one goroutine; Offer, Room and Waiting are safe for concurrent use.
type Placer struct {
	Client  kubernetes.Interface
	Cluster Cluster
	Rooms   Rooms
	Limits  gang.Limits
	Log     *slog.Logger
	// Ended is called with "placed" when all pods of a gang have room, and with "released" when a gang has held a part for too long.
	Ended func(outcome string)

	gangs map[string]*known
	last  gang.Gang // the last one that was considered in turn

	mu      sync.Mutex
	offers  map[growth.PodUID]offer
	rooms   map[growth.PodUID]gang.Room
	waiting int
}

// known is what is remembered of a gang.
type known struct {
	state gang.State
	size  size
	said  string                            // the last event
	woken map[growth.PodUID]growth.NodeName // the pods that were annotated, and for which node
	held  map[growth.PodUID]holding         // nil until the first look
}

// offer are the nodes that kube-scheduler offers to a pod.
type offer struct {
	nodes []growth.NodeName
	at    time.Time
}

// Run places gangs until ctx ends.
func (p *Placer) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			p.Pass(ctx, now)
		case <-ctx.Done():
			return nil
		}
	}
}

// Pass makes one decision.
func (p *Placer) Pass(ctx context.Context, now time.Time) {
	snapshot := p.Cluster.Snapshot()
	if !snapshot.Synced || snapshot.Unavailable != nil {
		return
	}
	// 1. The gangs that wait, and the room.
	waiting := p.find(snapshot)
	p.forget(snapshot, waiting, now)
	nodes := p.look(snapshot, waiting, now)
	// 2. The decisions.
	jobs := p.choose(ctx, waiting, now)
	var gangs []gang.Gang
	for _, j := range jobs {
		gangs = append(gangs, j.Gang)
	}
	decisions := p.Limits.Decide(now, gangs, nodes, p.Rooms.PlacementPolicy())
	// 3. Their room: released first, because others need it.
	for _, j := range waiting {
		if jobs[j.Name] == nil {
			p.releaseOutlived(ctx, j, now)
		}
	}
	for _, d := range decisions {
		p.release(ctx, jobs[d.Gang], d, now)
	}
	for _, d := range decisions {
		p.follow(ctx, jobs[d.Gang], d, now)
	}
}

// Offer implements scheduler.Gangs.
func (p *Placer) Offer(pod request.Pod, nodes []growth.NodeName) gang.Room {
	p.mu.Lock()
	if p.offers == nil {
		p.offers = map[growth.PodUID]offer{}
	}
	p.offers[pod.Ref.UID] = offer{nodes, time.Now()}
	p.mu.Unlock()
	return p.Room(pod)
}

// Room implements scheduler.Gangs.
func (p *Placer) Room(pod request.Pod) gang.Room {
	p.mu.Lock()
	defer p.mu.Unlock()
	if room, decided := p.rooms[pod.Ref.UID]; decided {
		return room
	}
	return gang.Room{Wait: "the pods of " + pod.Gang.Title + " are placed together: it waits for the others"}
}

// Waiting returns the number of gangs that wait.
func (p *Placer) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// offered returns the nodes that were offered to a pod.
func (p *Placer) offered(pod growth.PodUID) []growth.NodeName {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offers[pod].nodes
}

// asked returns when kube-scheduler last asked for a pod.
func (p *Placer) asked(pod growth.PodUID) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offers[pod].at
}
