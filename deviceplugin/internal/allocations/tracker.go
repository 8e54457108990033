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

// PodResources says who holds which devices.
type PodResources interface {
	List(ctx context.Context) ([]kubelet.ContainerDevices, error)
	// Get is the same of one pod. Older kubelets fail it.
	Get(ctx context.Context, namespace, pod string) ([]kubelet.ContainerDevices, error)
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
	Kubelet PodResources
	Pods    Pods
	Slots   Slots
	Bus     Bus
	// Inventory are the node's GPUs.
	Inventory Inventory
	Metrics   *Metrics
	Log       *slog.Logger
}

// Tracker keeps the books of one node.
type Tracker struct {
	Config

	allocations  bus.Mirror[bus.Allocation]
	reservations bus.Mirror[bus.Reservation]
	wake         chan struct{}
	// importsKnown and booked are reached when it is known what pods of another device plugin hold, and when the bus knows.
	importsKnown, importsPublished *latch

	mu sync.Mutex
	// imported are those pods' allocations, nowhere those that can not be counted and were told of.
	imported map[growth.PodUID]bus.Allocation
	warned   map[string]struct{}
	// listSequence numbers the questions to kubelet, newest is the one whose answer settled comes from.
	listSequence, latestSequence int
	satisfied                    map[slice.Key]struct{}     // never written to
	claims                       map[string]claim           // by slot
	devices                      []kubelet.ContainerDevices // that answer

	gate listGate
}

// claim is a demand that an allocation seems to answer, until kubelet lists who really holds the ids.
type claim struct {
	ids     []string // sorted, as holdings are
	demand  slice.Key
	gpus    []growth.GPU
	created time.Time
}

// claimGracePeriod is how long a claim lasts that kubelet never confirms: its pod was refused after Allocate.
const claimGracePeriod = time.Minute

// demandTimeout bounds the wait for a pod that kubelet knows already. Admission is serial: it must stay short.
const demandTimeout = 200 * time.Millisecond

// New returns a ledger with empty books.
func New(c Config) *Tracker {
	return &Tracker{
		Config:           c,
		allocations:      bus.Mirror[bus.Allocation]{Decode: decodeAllocation},
		reservations:     bus.Mirror[bus.Reservation]{Decode: decodeReservation},
		wake:             make(chan struct{}, 1),
		satisfied:        map[slice.Key]struct{}{},
		claims:           map[string]claim{},
		importsKnown:     newLatch(),
		importsPublished: newLatch(),
		warned:           map[string]struct{}{},
	}
}

// gpus are the node's, in the driver's order.
func (l *Tracker) gpus() []growth.GPU {
	devices, _ := l.Inventory.Devices()
	gpus := make([]growth.GPU, len(devices))
	for i, d := range devices {
		gpus[i] = d.UUID
	}
	return gpus
}

// importedPods is what pods of another device plugin were found to hold.
func (l *Tracker) importedPods() map[growth.PodUID]bus.Allocation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.imported
}

// Demands lists what kubelet will be asked for next.
func (l *Tracker) Demands() []slice.Demand {
	pods, _ := l.Pods.Pods()
	l.mu.Lock()
	satisfied := l.satisfied
	claimed := map[slice.Key]struct{}{}
	started := map[growth.PodUID][]growth.GPU{} // where a pod's first containers went, the others follow
	for _, c := range l.claims {
		claimed[c.demand] = struct{}{}
		started[c.demand.Pod] = c.gpus
	}
	l.mu.Unlock()
	demands := Demands(pods, byUID(l.reservations.View().Values), satisfied, claimed)
	for i, d := range demands {
		if len(d.GPUs) == 0 {
			demands[i].GPUs = started[d.Pod]
		}
	}
	return demands
}

// AwaitDemand returns the demands once one of them asks for so many units. Kubelet may hear of a pod some milliseconds
// before we do; while we hear nothing at all there is no use in waiting.
func (l *Tracker) AwaitDemand(ctx context.Context, units int) []slice.Demand {
	ctx, cancel := context.WithTimeout(ctx, demandTimeout)
	defer cancel()
	poll := time.NewTicker(demandTimeout / 20)
	defer poll.Stop()
	for {
		demands := l.Demands()
		if slices.ContainsFunc(demands, func(d slice.Demand) bool { return d.Units == units }) || !l.Synced() || l.BusErr() != nil {
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
func (l *Tracker) Allocations() map[growth.PodUID]bus.Allocation {
	return byUID(l.allocations.View().Values)
}

// Holders lists the pods that hold memory on a GPU.
func (l *Tracker) Holders(gpu growth.GPU) []growth.PodRef {
	var pods []growth.PodRef
	for _, a := range l.Allocations() {
		if slices.ContainsFunc(a.GPUs(), func(s growth.GPUShare) bool { return s.GPU == gpu }) {
			pods = append(pods, a.Pod)
		}
	}
	return pods
}

// Synced tells whether pods and reservations are known, so that a demand which is not listed does not exist.
func (l *Tracker) Synced() bool {
	_, known := l.Pods.Pods()
	return known && l.reservations.View().Synced
}

// BeginAllocate says that kubelet has begun to allocate for a container.
func (l *Tracker) BeginAllocate(ctx context.Context) { l.gate.beginAllocate(ctx) }

// EndAllocate says that it has been answered.
func (l *Tracker) EndAllocate() { l.gate.endAllocate() }

// Claim notes that ids were handed out: the next request of that size is somebody else's.
func (l *Tracker) Claim(ids []string, parts []slice.Part) {
	name := slice.Slot(ids)
	demand, ok := slice.MatchAllocation(parts, l.Demands())
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, claimed := l.claims[name]; !ok || claimed {
		return
	}
	c := claim{ids: slices.Sorted(slices.Values(ids)), demand: demand.Key(), created: time.Now()}
	for _, p := range parts {
		c.gpus = append(c.gpus, p.GPU)
	}
	l.claims[name] = c
}

// listDevices asks kubelet, and drops the claims that its answer settles.
func (l *Tracker) listDevices(ctx context.Context) ([]kubelet.ContainerDevices, func(satisfied map[slice.Key]struct{}), error) {
	finishList, err := l.gate.beginList(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	l.listSequence++
	sequence := l.listSequence
	l.mu.Unlock()
	devices, err := l.Kubelet.List(ctx)
	finishList()
	if err != nil {
		return nil, nil, err
	}
	markSatisfied := func(satisfied map[slice.Key]struct{}) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if sequence < l.latestSequence { // answers may overtake one another
			return
		}
		l.latestSequence = sequence
		l.satisfied = satisfied
		l.devices = devices
		maps.DeleteFunc(l.claims, func(_ string, c claim) bool {
			return time.Since(c.created) > claimGracePeriod || slices.ContainsFunc(devices, func(h kubelet.ContainerDevices) bool { return slices.Equal(h.IDs, c.ids) })
		})
	}
	return devices, markSatisfied, nil
}

func byUID[T any](values map[string]T) map[growth.PodUID]T {
	result := make(map[growth.PodUID]T, len(values))
	for key, value := range values {
		if parsed, err := bus.ParseKey(key); err == nil {
			result[parsed.Pod] = value
		}
	}
	return result
}

func decodeAllocation(e bus.Entry) (bus.Allocation, error) {
	a, err := bus.Decode[bus.Allocation](e.Value)
	if err != nil {
		return bus.Allocation{}, err
	}
	return a, checkOwner(e.Key, a.Pod)
}

func decodeReservation(e bus.Entry) (bus.Reservation, error) {
	r, err := bus.Decode[bus.Reservation](e.Value)
	if err != nil {
		return bus.Reservation{}, err
	}
	if slices.ContainsFunc(r.Containers, func(c bus.ContainerRequest) bool { return c.Units < 0 }) {
		return bus.Reservation{}, fmt.Errorf("%s reserves less than nothing", e.Key)
	}
	return r, checkOwner(e.Key, r.Pod)
}

// checkOwner checks that a record lies under its own pod's key.
func checkOwner(key string, pod growth.PodRef) error {
	if parsed, err := bus.ParseKey(key); err != nil || parsed.Pod != pod.UID {
		return fmt.Errorf("%s holds a record of pod %s (%s)", key, pod, pod.UID)
	}
	return nil
}
