// Package heap has a small heap collected as seldom as a large one.
//
// GOGC is a proportion. The one that keeps a cluster of thousands of nodes within its memory limit has the heap of a small
// one, a few MiB, collected several times a second while pods arrive, and marking it is a tenth of all that the extender
// computes then. With a floor the heap grows to that size first, however little of it is alive. Above it the heap may be
// four times what is alive, for who is asked while it is marked answers three times as slowly, until that reaches a
// ceiling; from where GOGC lets it grow further by itself, nothing changes.
package heap

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// Floor is what a heap may grow to that has little in it, in bytes.
	Floor = 48 << 20
	// Ceiling is what one with more in it may grow to by this; then GOGC alone decides.
	Ceiling = 112 << 20
	// most is what a heap meets that grows faster than it is looked at.
	most = Ceiling + 16<<20
)

// every is how often the heap is looked at.
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
			set(int(now), most)
		} else {
			set(int(percent), math.MaxInt64)
		}
	}
}

// roomy is the percentage by which a heap with so much alive may grow, or percent if that is more.
func roomy(live, percent uint64) uint64 {
	goal := max(Floor, min(4*live, Ceiling))
	if live == 0 || live >= goal {
		return percent
	}
	return max(percent, 100*(goal-live)/live)
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
