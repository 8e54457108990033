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

// errNowhere is about a pod whose GPU nobody can tell.
var errNowhere = errors.New("another device plugin gave it units, and its annotation ALIYUN_COM_GPU_MEM_IDX names none of this node's GPUs: " +
	"what it holds can not be counted; delete it to have its memory accounted")

// imported writes down what another device plugin gave to a container. Its ids say how much; where that is, the pod's
// annotation says, and on a node with one GPU nobody has to. It has no slot: nothing of ours is mounted into it.
func (b Books) imported(pod Pod, h kubelet.Holding) (bus.ContainerAllocation, error) {
	number := 0
	if pod.Number != nil {
		number = *pod.Number
	}
	if number >= len(b.GPUs) || pod.Number == nil && len(b.GPUs) != 1 {
		return bus.ContainerAllocation{}, errNowhere
	}
	share := growth.GPUShare{GPU: b.GPUs[number], Memory: growth.MiB(len(h.IDs)) * b.Unit}
	return bus.ContainerAllocation{Name: h.Container, GPUs: []growth.GPUShare{share}, IDs: h.IDs}, nil
}

// imports are the allocations with containers that another device plugin gave their units: those that kubelet lists, and
// those it listed before, until their pod is known to be gone. A kubelet that has just started lists nobody.
func (b Books) imports(actual map[growth.PodUID]bus.Allocation) map[growth.PodUID]bus.Allocation {
	imports := map[growth.PodUID]bus.Allocation{}
	for _, known := range []map[growth.PodUID]bus.Allocation{b.Recorded, b.Imported} {
		for uid, a := range known {
			if foreign(a) && (!b.PodsKnown || b.alive(uid)) {
				imports[uid] = a
			}
		}
	}
	for uid, a := range actual {
		delete(imports, uid)
		if foreign(a) {
			imports[uid] = a
		}
	}
	return imports
}

func foreign(a bus.Allocation) bool {
	return slices.ContainsFunc(a.Containers, func(c bus.ContainerAllocation) bool { return slice.Foreign(c.IDs) })
}

func (b Books) alive(uid growth.PodUID) bool {
	return slices.ContainsFunc(b.Pods, func(p Pod) bool { return p.Ref.UID == uid && !p.Finished })
}

// looked tells whether the books say all there is to know about imports: there are none, or the pods have been listed.
func (b Books) looked() bool {
	return b.PodsKnown || !slices.ContainsFunc(b.Holdings, func(h kubelet.Holding) bool { return slice.Foreign(h.IDs) })
}

// held sums what imports hold, in units.
func held(imports map[growth.PodUID]bus.Allocation, unit growth.MiB) slice.Held {
	units := slice.Held{}
	for _, a := range imports {
		for _, c := range a.Containers {
			if !slice.Foreign(c.IDs) {
				continue
			}
			for _, share := range c.GPUs {
				units[share.GPU] += int((share.Memory + unit - 1) / unit)
			}
		}
	}
	return units
}

// milestone is something that is reached once.
type milestone struct {
	once    sync.Once
	reached chan struct{}
}

func newMilestone() *milestone { return &milestone{reached: make(chan struct{})} }

func (m *milestone) reach() { m.once.Do(func() { close(m.reached) }) }

func (m *milestone) wait(ctx context.Context) error {
	select {
	case <-m.reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Held is what pods of another device plugin hold of each GPU, as far as it is known.
func (l *Ledger) Held() slice.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	return held(l.imported, l.Unit)
}

// Looked returns when it is known what pods of another device plugin hold.
func (l *Ledger) Looked(ctx context.Context) error { return l.looked.wait(ctx) }

// Booked returns when that is on the bus.
func (l *Ledger) Booked(ctx context.Context) error { return l.booked.wait(ctx) }

// adopt takes over what a comparison found out about pods of another device plugin.
func (l *Ledger) adopt(b Books, c Corrections) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, a := range c.Imported {
		if _, known := l.imported[uid]; !known {
			l.Log.Info("imported a pod that another device plugin started", "pod", a.Pod.String(), "uid", uid, "gpus", fmt.Sprint(a.GPUs()))
		}
	}
	l.imported = c.Imported
	for pod, reason := range c.Pending {
		if _, told := l.nowhere[pod]; !told && errors.Is(reason, errNowhere) {
			l.nowhere[pod] = struct{}{}
			l.Log.Warn("a pod's memory is not counted", "pod", pod, "reason", reason)
		}
	}
	if b.looked() {
		l.looked.reach()
	}
}
