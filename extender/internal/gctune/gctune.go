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
	// Floor is the size in bytes to which a small heap may grow.
	Floor = 48 << 20
	// Ceiling is the largest size to which this package lets a heap grow. Beyond it GOGC decides.
	Ceiling = 112 << 20
	// hardLimit is the memory limit for a heap that grows faster than adjustInterval.
	hardLimit = Ceiling + 16<<20
)

const (
	// adjustInterval is the time between two adjustments of GOGC.
	adjustInterval = 5 * time.Second
	// checkInterval is how often Run looks for an idle period, and the shortest period that counts.
	checkInterval = 100 * time.Millisecond
)

// Run tunes the collector until ctx ends. idle returns the time since the last request. It does nothing if the operator has
// turned the collector off or has set a memory limit.
func Run(ctx context.Context, idle func() time.Duration) error {
	percent, limit := read("/gc/gogc:percent"), read("/gc/gomemlimit:bytes")
	if percent >= math.MaxInt32 || limit != math.MaxInt64 {
		<-ctx.Done()
		return nil
	}
	defer set(int(percent), math.MaxInt64)
	adjust, check := time.NewTicker(adjustInterval), time.NewTicker(checkInterval)
	defer adjust.Stop()
	defer check.Stop()
	took := time.Duration(0)
	for {
		select {
		case <-adjust.C: // not at the start: a large cluster's heap grows at once
			target := targetPercent(read("/gc/heap/live:bytes"), percent)
			if target > percent {
				set(int(target), hardLimit)
			} else {
				set(int(percent), math.MaxInt64)
			}
		case <-check.C:
			if idle() >= minIdle(took) && halfFull() {
				took = collect()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// minIdle is the idle time after which the heap is collected, given the duration of the last collection. An idle period
// mostly lasts as long again as it has lasted: one of twice the duration rarely ends before the collection does.
func minIdle(took time.Duration) time.Duration { return max(checkInterval, 2*took) }

// collect runs a collection and returns its duration.
func collect() time.Duration {
	start := time.Now()
	runtime.GC()
	return time.Since(start)
}

// targetPercent returns the GOGC for a heap with a live part, at least percent.
func targetPercent(live, percent uint64) uint64 {
	goal := max(Floor, min(4*live, Ceiling))
	if live == 0 || live >= goal {
		return percent
	}
	return max(percent, 100*(goal-live)/live)
}

// halfFull reports whether half of the room between the live heap and the next automatic collection is used.
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
