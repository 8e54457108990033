package storm

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// allocationLog follows the device plugins' records on the bus.
type allocationLog struct {
	mu sync.Mutex
	// now has the current allocations, ever every share that was allocated to a pod.
	now    map[growth.PodUID]bus.Allocation
	ever   map[growth.PodUID][]Given
	memory map[growth.GPU]growth.MiB
}

// follow watches the bus until ctx ends.
func (l *allocationLog) follow(ctx context.Context, from *etcdbus.Bus) {
	for batch := range from.Watch(ctx, bus.Nodes) {
		l.take(batch)
	}
}

func (l *allocationLog) take(batch bus.Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || batch.Reset {
		l.now = map[growth.PodUID]bus.Allocation{}
	}
	if l.ever == nil {
		l.ever, l.memory = map[growth.PodUID][]Given{}, map[growth.GPU]growth.MiB{}
	}
	for _, key := range batch.Deleted {
		if parsed, err := bus.ParseKey(key); err == nil && parsed.Kind == bus.KindAllocation {
			delete(l.now, parsed.Pod)
		}
	}
	for _, entry := range batch.Entries {
		key, err := bus.ParseKey(entry.Key)
		if err != nil {
			continue
		}
		switch key.Kind {
		case bus.KindAllocation:
			if a, err := bus.Decode[bus.Allocation](entry.Value); err == nil {
				l.now[key.Pod] = a
				l.ever[key.Pod] = noted(l.ever[key.Pod], shareOf(a), uptime())
			}
		case bus.KindGPUs:
			if gpus, err := bus.Decode[bus.NodeGPUs](entry.Value); err == nil {
				for _, gpu := range gpus.GPUs {
					l.memory[gpu.UUID] = gpu.Memory
				}
			}
		}
	}
}

func shareOf(a bus.Allocation) Share {
	s := Share{}
	for _, part := range a.GPUs() {
		s[part.GPU] += part.Memory
	}
	return s
}

// shares returns every recorded share of each pod, and the memory of the GPUs.
func (l *allocationLog) shares() (map[growth.PodUID][]Given, map[growth.GPU]growth.MiB) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.ever), maps.Clone(l.memory)
}

// held returns the device IDs of the current allocations.
func (l *allocationLog) held() map[growth.PodUID][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := map[growth.PodUID][]string{}
	for uid, a := range l.now {
		for _, container := range a.Containers {
			held[uid] = slices.Concat(held[uid], container.IDs)
		}
	}
	return held
}
