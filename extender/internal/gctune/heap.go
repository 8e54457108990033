// Package gctune has the extender's heap collected seldom, and while nobody asks.
//
// Seldom: GOGC is a proportion. The one that keeps a cluster of thousands of nodes within its memory limit has the heap of a
// small one, a few MiB, collected several times a second while pods arrive, and marking it is a tenth of all that the
// extender computes then. With a floor the heap grows to that size first, however little of it is alive. Above it the heap
// may be four times what is alive, until that reaches a ceiling; from where GOGC lets it grow further by itself, nothing
// changes.
//
// While nobody asks: who is asked while it is marked answers three times as slowly, and with tens of thousands of pods that
// lasts for half a second. Pods come in bursts. So once half of the room to grow is used, the next long pause is used to
// collect it, and what is left is enough for some thousand questions.
package gctune

import (
	"context"
	"math"
	"runtime"
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

const (
	// every is how often it is decided how far the heap may grow.
	every = 5 * time.Second
	// often is how often it is looked for a pause, and how long nobody asks in one at least.
	often = 100 * time.Millisecond
)

// Keep looks after the heap until ctx ends; pause tells for how long nobody has asked. It leaves a process alone whose
// operator has turned the collector off or limits memory.
func Keep(ctx context.Context, pause func() time.Duration) error {
	percent, limit := read("/gc/gogc:percent"), read("/gc/gomemlimit:bytes")
	if percent >= math.MaxInt32 || limit != math.MaxInt64 {
		<-ctx.Done()
		return nil
	}
	defer set(int(percent), math.MaxInt64)
	decide, look := time.NewTicker(every), time.NewTicker(often)
	defer decide.Stop()
	defer look.Stop()
	took := time.Duration(0)
	for {
		select {
		case <-decide.C: // not before: a large cluster's heap grows at once
			if now := roomy(read("/gc/heap/live:bytes"), percent); now > percent {
				set(int(now), most)
			} else {
				set(int(percent), math.MaxInt64)
			}
		case <-look.C:
			if pause() >= enough(took) && halfFull() {
				took = collect()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// enough is how long nobody must have asked for a heap to be collected whose last collection took so long. A pause mostly lasts
// as long again as it has lasted: one that was twice as long as a collection is seldom over before that is.
func enough(took time.Duration) time.Duration { return max(often, 2*took) }

// collect collects, and returns how long that took.
func collect() time.Duration {
	begun := time.Now()
	runtime.GC()
	return time.Since(begun)
}

// roomy is the percentage by which a heap with so much alive may grow, or percent if that is more.
func roomy(live, percent uint64) uint64 {
	goal := max(Floor, min(4*live, Ceiling))
	if live == 0 || live >= goal {
		return percent
	}
	return max(percent, 100*(goal-live)/live)
}

// halfFull tells whether half of the room between what was alive and where the collector begins by itself is used.
func halfFull() bool {
	live, goal := read("/gc/heap/live:bytes"), read("/gc/heap/goal:bytes")
	return live > 0 && read("/memory/classes/heap/objects:bytes") > live+(max(goal, live)-live)/2
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
