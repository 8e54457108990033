package allocations

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// PodResources lists which container holds which devices.
type PodResources interface {
	List(ctx context.Context) (kubelet.Listing, error)
	// Get lists the devices of one pod. Older kubelets do not serve it.
	Get(ctx context.Context, namespace, pod string) ([]kubelet.ContainerDevices, error)
}

// Pods are the pods bound to this node, as the API server knows them.
type Pods interface {
	// Pods returns a list that the caller must not modify. known is false until the pods have been listed once.
	Pods() (pods []pods.Pod, known bool)
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// Slots are the slot directories on disk.
type Slots interface {
	List() ([]slot.Dir, error)
	Remove(name string) error
	// SetOwner records the container that a slot belongs to.
	SetOwner(name string, owner slot.Owner) error
	// SetCheckpoint puts what a job has saved before it moved into its slot; nil removes it.
	SetCheckpoint(name string, saved *gpushare.Saved) error
}

// Events records Kubernetes events.
type Events interface {
	Warning(ctx context.Context, about apiserver.ObjectRef, reason, message string) error
}

// Bus is the part of the state bus that a Tracker uses.
type Bus interface {
	Put(ctx context.Context, key string, value []byte, life bus.Lifetime, guards ...bus.Guard) (bus.Revision, error)
	Delete(ctx context.Context, key string, guards ...bus.Guard) error
	Watch(ctx context.Context, prefix string) <-chan bus.Batch
}

// Config holds the dependencies of a Tracker.
type Config struct {
	Node    growth.NodeName
	Unit    growth.MiB
	Kubelet PodResources
	Pods    Pods
	Slots   Slots
	Bus     Bus
	// Inventory lists the node's GPUs.
	Inventory Inventory
	// Boot identifies the current boot of the machine.
	Boot string
	// Events records that kubelet has forgotten devices; nil records nothing.
	Events  Events
	Metrics *Metrics
	Log     *slog.Logger
}

// Tracker keeps the allocation records of one node. It is safe for concurrent use.
type Tracker struct {
	Config

	allocations  bus.Mirror[bus.Allocation]
	reservations bus.Mirror[bus.Reservation]
	wake         chan struct{}
	// importsKnown is set once the imported pods are known, importsPublished once the bus has their records.
	importsKnown, importsPublished *latch

	mu sync.Mutex
	// imported are the allocations of those pods. warned are the pods whose GPU is unknown and that were logged.
	imported map[growth.PodUID]bus.Allocation
	warned   map[string]struct{}
	// listSequence numbers List requests. satisfied and devices come from the request latestSequence, so that a late
	// response cannot replace a newer one.
	listSequence, latestSequence int
	satisfied                    map[slice.Key]struct{}     // replaced, never modified
	claims                       map[string]claim           // by slot
	devices                      []kubelet.ContainerDevices // the response of latestSequence
	// slots are the slots on disk at the last reconciliation; nil before the first.
	slots []slot.Dir

	// reported are the pods whose forgotten devices an event has reported. Only Run uses it.
	reported map[growth.PodUID]struct{}

	gate listGate
}

// New returns a Tracker without any state.
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
		reported:         map[growth.PodUID]struct{}{},
	}
}

// gpus returns the UUIDs of the node's GPUs in the driver's order.
func (t *Tracker) gpus() []growth.GPU {
	devices, _ := t.Inventory.Devices()
	gpus := make([]growth.GPU, len(devices))
	for i, d := range devices {
		gpus[i] = d.UUID
	}
	return gpus
}

// importedPods returns the allocations of pods that another device plugin started.
func (t *Tracker) importedPods() map[growth.PodUID]bus.Allocation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.imported
}

// Allocations returns the allocation records of this node's pods.
func (t *Tracker) Allocations() map[growth.PodUID]bus.Allocation {
	return byUID(t.allocations.View().Values)
}

// Holders returns the pods that hold memory of the GPU.
func (t *Tracker) Holders(gpu growth.GPU) []growth.PodRef {
	var podList []growth.PodRef
	for _, a := range t.Allocations() {
		if slices.ContainsFunc(a.GPUs(), func(s growth.GPUShare) bool { return s.GPU == gpu }) {
			podList = append(podList, a.Pod)
		}
	}
	return podList
}

// Synced reports whether all pods and reservations are known, so that an unlisted demand does not exist.
func (t *Tracker) Synced() bool {
	_, known := t.Pods.Pods()
	return known && t.reservations.View().Synced
}
