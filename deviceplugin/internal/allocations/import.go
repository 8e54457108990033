package allocations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// errUnknownGPU reports an imported pod whose GPU cannot be determined.
var errUnknownGPU = errors.New("another device plugin allocated its units, and its annotation ALIYUN_COM_GPU_MEM_IDX " +
	"names none of this node's GPUs, so its memory cannot be counted: delete the pod, so that this plugin allocates its memory")

// imported returns the allocation of a container that another device plugin started. The ids give the amount of
// memory. The pod's annotation gives the GPU; a node with one GPU needs no annotation. There is no slot, because
// nothing is mounted.
func (s Snapshot) imported(pod pods.Pod, d kubelet.ContainerDevices) (bus.ContainerAllocation, error) {
	index := 0
	if pod.GPUIndex != nil {
		index = *pod.GPUIndex
	}
	if index >= len(s.GPUs) || pod.GPUIndex == nil && len(s.GPUs) != 1 {
		return bus.ContainerAllocation{}, errUnknownGPU
	}
	share := growth.GPUShare{GPU: s.GPUs[index], Memory: growth.MiB(len(d.IDs)) * s.Unit}
	return bus.ContainerAllocation{Name: d.Container, GPUs: []growth.GPUShare{share}, IDs: d.IDs}, nil
}

// imports returns the allocations that another device plugin made: those that kubelet lists, and earlier ones whose pod
// still exists. Earlier ones are needed because kubelet lists no pods right after its restart.
func (s Snapshot) imports(actual map[growth.PodUID]bus.Allocation) map[growth.PodUID]bus.Allocation {
	imports := map[growth.PodUID]bus.Allocation{}
	for _, known := range []map[growth.PodUID]bus.Allocation{s.Recorded, s.Imported} {
		for uid, a := range known {
			if isImported(a) && (!s.PodsSynced || s.alive(uid)) {
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

func (s Snapshot) alive(uid growth.PodUID) bool {
	return slices.ContainsFunc(s.Pods, func(p pods.Pod) bool { return p.Ref.UID == uid && !p.Finished })
}

// importsComplete reports whether all imports are known: kubelet lists none, or the pods have been listed.
func (s Snapshot) importsComplete() bool {
	foreign := func(d kubelet.ContainerDevices) bool { return slice.HasForeign(d.IDs) }
	return s.PodsSynced || !slices.ContainsFunc(s.Devices, foreign)
}

// importedUnits sums the units of imports by GPU.
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

// latch is a condition that becomes true once and stays true.
type latch struct {
	once sync.Once
	done chan struct{}
}

func newLatch() *latch { return &latch{done: make(chan struct{})} }

func (l *latch) set() { l.once.Do(func() { close(l.done) }) }

func (l *latch) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ImportedUnits returns the units of each GPU that pods of another device plugin hold.
func (t *Tracker) ImportedUnits() slice.Withheld {
	t.mu.Lock()
	defer t.mu.Unlock()
	return importedUnits(t.imported, t.Unit)
}

// AwaitImports returns once the pods of another device plugin are known.
func (t *Tracker) AwaitImports(ctx context.Context) error { return t.importsKnown.wait(ctx) }

// AwaitImportsPublished returns once the allocations of those pods are on the bus.
func (t *Tracker) AwaitImportsPublished(ctx context.Context) error {
	return t.importsPublished.wait(ctx)
}

// setImports stores the imported pods that Reconcile found.
func (t *Tracker) setImports(s Snapshot, c Corrections) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid, a := range c.Imported {
		if _, known := t.imported[uid]; !known {
			t.Log.Info("imported a pod that another device plugin started",
				"pod", a.Pod.String(), "uid", uid, "gpus", fmt.Sprint(a.GPUs()))
		}
	}
	t.imported = c.Imported
	for pod, err := range c.Pending {
		if _, warned := t.warned[pod]; !warned && errors.Is(err, errUnknownGPU) {
			t.warned[pod] = struct{}{}
			t.Log.Warn("a pod's memory is not counted", "pod", pod, "err", err)
		}
	}
	if s.importsComplete() {
		t.importsKnown.set()
	}
}
