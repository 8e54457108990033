package allocations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// errUnknownGPU is about a pod whose GPU nobody can tell.
var errUnknownGPU = errors.New("another device plugin gave it units, and its annotation ALIYUN_COM_GPU_MEM_IDX names none of this node's GPUs: " +
	"what it holds can not be counted; delete it to have its memory accounted")

// imported writes down what another device plugin gave to a container. Its ids say how much; where that is, the pod's
// annotation says, and on a node with one GPU nobody has to. It has no slot: nothing of ours is mounted into it.
func (b Snapshot) imported(pod Pod, h kubelet.ContainerDevices) (bus.ContainerAllocation, error) {
	index := 0
	if pod.GPUIndex != nil {
		index = *pod.GPUIndex
	}
	if index >= len(b.GPUs) || pod.GPUIndex == nil && len(b.GPUs) != 1 {
		return bus.ContainerAllocation{}, errUnknownGPU
	}
	share := growth.GPUShare{GPU: b.GPUs[index], Memory: growth.MiB(len(h.IDs)) * b.Unit}
	return bus.ContainerAllocation{Name: h.Container, GPUs: []growth.GPUShare{share}, IDs: h.IDs}, nil
}

// imports are the allocations with containers that another device plugin gave their units: those that kubelet lists, and
// those it listed before, until their pod is known to be gone. A kubelet that has just started lists nobody.
func (b Snapshot) imports(actual map[growth.PodUID]bus.Allocation) map[growth.PodUID]bus.Allocation {
	imports := map[growth.PodUID]bus.Allocation{}
	for _, known := range []map[growth.PodUID]bus.Allocation{b.Recorded, b.Imported} {
		for uid, a := range known {
			if isImported(a) && (!b.PodsSynced || b.alive(uid)) {
				imports[uid] = a
			}
		}
	}
	for uid, a := range actual {
		delete(imports, uid)
		if isImported(a) {
			imports[uid] = a
		}
	}
	return imports
}

func isImported(a bus.Allocation) bool {
	return slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return slice.HasForeign(c.IDs) })
}

func (b Snapshot) alive(uid growth.PodUID) bool {
	return slices.ContainsFunc(b.Pods, func(p Pod) bool { return p.Ref.UID == uid && !p.Finished })
}

// importsComplete tells whether the books say all there is to know about imports: there are none, or the pods have been listed.
func (b Snapshot) importsComplete() bool {
	return b.PodsSynced || !slices.ContainsFunc(b.Devices, func(h kubelet.ContainerDevices) bool { return slice.HasForeign(h.IDs) })
}

// importedUnits sums what imports hold, in units.
func importedUnits(imports map[growth.PodUID]bus.Allocation, unit growth.MiB) slice.Withheld {
	units := slice.Withheld{}
	for _, a := range imports {
		for _, c := range a.Containers {
			if !slice.HasForeign(c.IDs) {
				continue
			}
			for _, share := range c.GPUs {
				units[share.GPU] += int((share.Memory + unit - 1) / unit)
			}
		}
	}
	return units
}

// latch is something that is reached once.
type latch struct {
	once sync.Once
	done chan struct{}
}

func newLatch() *latch { return &latch{done: make(chan struct{})} }

func (m *latch) set() { m.once.Do(func() { close(m.done) }) }

func (m *latch) wait(ctx context.Context) error {
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ImportedUnits is what pods of another device plugin hold of each GPU, as far as it is known.
func (l *Tracker) ImportedUnits() slice.Withheld {
	l.mu.Lock()
	defer l.mu.Unlock()
	return importedUnits(l.imported, l.Unit)
}

// AwaitImports returns when it is known what pods of another device plugin hold.
func (l *Tracker) AwaitImports(ctx context.Context) error { return l.importsKnown.wait(ctx) }

// AwaitImportsPublished returns when that is on the bus.
func (l *Tracker) AwaitImportsPublished(ctx context.Context) error {
	return l.importsPublished.wait(ctx)
}

// setImports takes over what a comparison found out about pods of another device plugin.
func (l *Tracker) setImports(b Snapshot, c Corrections) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, a := range c.Imported {
		if _, known := l.imported[uid]; !known {
			l.Log.Info("imported a pod that another device plugin started", "pod", a.Pod.String(), "uid", uid, "gpus", fmt.Sprint(a.GPUs()))
		}
	}
	l.imported = c.Imported
	for pod, err := range c.Pending {
		if _, warned := l.warned[pod]; !warned && errors.Is(err, errUnknownGPU) {
			l.warned[pod] = struct{}{}
			l.Log.Warn("a pod's memory is not counted", "pod", pod, "reason", err)
		}
	}
	if b.importsComplete() {
		l.importsKnown.set()
	}
}
