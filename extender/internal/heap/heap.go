// Package heap has a small heap collected as seldom as a large one.
//
// GOGC is a proportion. The one that keeps a cluster of thousands of nodes within its memory limit has the heap of a small
// one, a few MiB, collected several times a second while pods arrive, and marking it is a tenth of all that the extender
// computes then. With a floor the heap grows to that size first, however little of it is alive; where GOGC lets it grow
// further by itself, nothing changes.
package heap

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Floor is what a heap may grow to that has little in it, in bytes.
const Floor = 48 << 20

// every is how often the heap is looked at. A heap that grows faster than that meets a limit of twice the floor meanwhile.
const every = 5 * time.Second

// Keep keeps the floor until ctx ends. It leaves a process alone whose operator has turned the collector off or limits
// memory.
func Keep(ctx context.Context) error {
	percent, limit := read("/gc/gogc:percent"), read("/gc/gomemlimit:bytes")
	if percent >= math.MaxInt32 || limit != math.MaxInt64 {
		<-ctx.Done()
		return nil
	}
	defer set(int(percent), math.MaxInt64)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C: // not before: a large cluster's heap grows at once
		case <-ctx.Done():
			return nil
		}
		if now := roomy(read("/gc/heap/live:bytes"), percent); now > percent {
			set(int(now), 2*Floor)
		} else {
			set(int(percent), math.MaxInt64)
		}
	}
}

// roomy is the percentage by which a heap with so much alive grows to the floor, or percent if that is more.
func roomy(live, percent uint64) uint64 {
	if live == 0 || live >= Floor {
		return percent
	}
	return max(percent, 100*(Floor-live)/live)
}

func set(percent int, limit int64) {
	debug.SetMemoryLimit(limit)
	debug.SetGCPercent(percent)
}

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
