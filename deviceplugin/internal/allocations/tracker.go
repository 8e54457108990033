package allocations

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Kubelet says who holds which devices.
type Kubelet interface {
	Holdings(ctx context.Context) ([]kubelet.Holding, error)
	// Of is the same of one pod. Older kubelets fail it.
	Of(ctx context.Context, namespace, pod string) ([]kubelet.Holding, error)
}

// Pods are the pods bound to this node, as the API server has them.
type Pods interface {
	// Pods returns them, not to be written to; known is false until all have been listed once.
	Pods() (pods []Pod, known bool)
	// Changed is closed at the next change.
	Changed() <-chan struct{}
}

// Slots are the folders on disk.
type Slots interface {
	List() ([]slot.Folder, error)
	Remove(name string) error
}

// Bus is the part of the state bus in use.
type Bus interface {
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
	Watch(ctx context.Context, prefix string) <-chan bus.Batch
}

// Config is what a ledger works with.
type Config struct {
	Node    growth.NodeName
	Unit    growth.MiB
	Kubelet Kubelet
	Pods    Pods
	Slots   Slots
	Bus     Bus
	// Inventory are the node's GPUs.
	Inventory Inventory
	Metrics   *Metrics
	Log       *slog.Logger
}

// Ledger keeps the books of one node.
type Ledger struct {
	Config

	allocations  bus.Mirror[bus.Allocation]
	reservations bus.Mirror[bus.Reservation]
	wake         chan struct{}
	// looked and booked are reached when it is known what pods of another device plugin hold, and when the bus knows.
	looked, booked *milestone

	mu sync.Mutex
	// imported are those pods' allocations, nowhere those that can not be counted and were told of.
	imported map[growth.PodUID]bus.Allocation
	nowhere  map[string]struct{}
	// asked numbers the questions to kubelet, newest is the one whose answer settled comes from.
	asked, newest int
	settled       map[slice.Key]struct{} // never written to
	claims        map[string]claim       // by slot
	listed        []kubelet.Holding      // that answer

	turns turns
}

// claim is a demand that an allocation seems to answer, until kubelet lists who really holds the ids.
type claim struct {
	ids    []string // sorted, as holdings are
	demand slice.Key
	on     []growth.GPU
	made   time.Time
}

// claimGrace is how long a claim lasts that kubelet never confirms: its pod was refused after Allocate.
const claimGrace = time.Minute

// expectWithin bounds the wait for a pod that kubelet knows already. Admission is serial: it must stay short.
const expectWithin = 200 * time.Millisecond

// New returns a ledger with empty books.
func New(c Config) *Ledger {
	return &Ledger{
		Config:       c,
		allocations:  bus.Mirror[bus.Allocation]{Decode: decodeAllocation},
		reservations: bus.Mirror[bus.Reservation]{Decode: decodeReservation},
		wake:         make(chan struct{}, 1),
		settled:      map[slice.Key]struct{}{},
		claims:       map[string]claim{},
		looked:       newMilestone(),
		booked:       newMilestone(),
		nowhere:      map[string]struct{}{},
	}
}

// gpus are the node's, in the driver's order.
func (l *Ledger) gpus() []growth.GPU {
	devices, _ := l.Inventory.Devices()
	gpus := make([]growth.GPU, len(devices))
	for i, d := range devices {
		gpus[i] = d.UUID
	}
	return gpus
}

// known is what pods of another device plugin were found to hold.
func (l *Ledger) known() map[growth.PodUID]bus.Allocation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.imported
}

// Demands lists what kubelet will be asked for next.
func (l *Ledger) Demands() []slice.Demand {
	pods, _ := l.Pods.Pods()
	l.mu.Lock()
	settled := l.settled
	claimed := map[slice.Key]struct{}{}
	begun := map[growth.PodUID][]growth.GPU{} // where a pod's first containers went, the others follow
	for _, c := range l.claims {
		claimed[c.demand] = struct{}{}
		begun[c.demand.Pod] = c.on
	}
	l.mu.Unlock()
	demands := Demands(pods, byUID(l.reservations.View().Values), settled, claimed)
	for i, d := range demands {
		if len(d.On) == 0 {
			demands[i].On = begun[d.Pod]
		}
	}
	return demands
}

// Expect returns the demands once one of them asks for so many units. Kubelet may hear of a pod some milliseconds
// before we do; while we hear nothing at all there is no use in waiting.
func (l *Ledger) Expect(ctx context.Context, units int) []slice.Demand {
	ctx, cancel := context.WithTimeout(ctx, expectWithin)
	defer cancel()
	poll := time.NewTicker(expectWithin / 20)
	defer poll.Stop()
	for {
		demands := l.Demands()
		if slices.ContainsFunc(demands, func(d slice.Demand) bool { return d.Units == units }) || !l.Informed() || l.Away() != nil {
			return demands
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return demands
		}
	}
}

// Allocations are what the bus says kubelet gave to the pods of this node.
func (l *Ledger) Allocations() map[growth.PodUID]bus.Allocation {
	return byUID(l.allocations.View().Values)
}

// Holders lists the pods that hold memory on a GPU.
func (l *Ledger) Holders(gpu growth.GPU) []growth.PodRef {
	var pods []growth.PodRef
	for _, a := range l.Allocations() {
		if slices.ContainsFunc(a.GPUs(), func(s growth.GPUShare) bool { return s.GPU == gpu }) {
			pods = append(pods, a.Pod)
		}
	}
	return pods
}

// Informed tells whether pods and reservations are known, so that a demand which is not listed does not exist.
func (l *Ledger) Informed() bool {
	_, known := l.Pods.Pods()
	return known && l.reservations.View().Synced
}

// Allocating says that kubelet has begun to allocate for a container.
func (l *Ledger) Allocating(ctx context.Context) { l.turns.allocating(ctx) }

// Allocated says that it has been answered.
func (l *Ledger) Allocated() { l.turns.allocated() }

// Claim notes that ids were handed out: the next request of that size is somebody else's.
func (l *Ledger) Claim(ids []string, parts []slice.Part) {
	name := slice.Slot(ids)
	demand, ok := slice.Claimed(parts, l.Demands())
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, again := l.claims[name]; !ok || again {
		return
	}
	c := claim{ids: slices.Sorted(slices.Values(ids)), demand: demand.Key(), made: time.Now()}
	for _, p := range parts {
		c.on = append(c.on, p.GPU)
	}
	l.claims[name] = c
}

// holdings asks kubelet, and drops the claims that its answer settles.
func (l *Ledger) holdings(ctx context.Context) ([]kubelet.Holding, func(settled map[slice.Key]struct{}), error) {
	done, err := l.turns.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	l.asked++
	ticket := l.asked
	l.mu.Unlock()
	holdings, err := l.Kubelet.Holdings(ctx)
	done()
	if err != nil {
		return nil, nil, err
	}
	settle := func(settled map[slice.Key]struct{}) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if ticket < l.newest { // answers may overtake one another
			return
		}
		l.newest = ticket
		l.settled = settled
		l.listed = holdings
		maps.DeleteFunc(l.claims, func(_ string, c claim) bool {
			return time.Since(c.made) > claimGrace || slices.ContainsFunc(holdings, func(h kubelet.Holding) bool { return slices.Equal(h.IDs, c.ids) })
		})
	}
	return holdings, settle, nil
}

func byUID[T any](values map[string]T) map[growth.PodUID]T {
	sorted := make(map[growth.PodUID]T, len(values))
	for key, value := range values {
		if parsed, err := bus.ParseKey(key); err == nil {
			sorted[parsed.Pod] = value
		}
	}
	return sorted
}

func decodeAllocation(e bus.Entry) (bus.Allocation, error) {
	a, err := bus.Decode[bus.Allocation](e.Value)
	if err != nil {
		return bus.Allocation{}, err
	}
	return a, owned(e.Key, a.Pod)
}

func decodeReservation(e bus.Entry) (bus.Reservation, error) {
	r, err := bus.Decode[bus.Reservation](e.Value)
	if err != nil {
		return bus.Reservation{}, err
	}
	if slices.ContainsFunc(r.Containers, func(c bus.ContainerRequest) bool { return c.Units < 0 }) {
		return bus.Reservation{}, fmt.Errorf("%s reserves less than nothing", e.Key)
	}
	return r, owned(e.Key, r.Pod)
}

// owned checks that a record lies under its own pod's key.
func owned(key string, pod growth.PodRef) error {
	if parsed, err := bus.ParseKey(key); err != nil || parsed.Pod != pod.UID {
		return fmt.Errorf("%s holds a record of pod %s (%s)", key, pod, pod.UID)
	}
	return nil
}
