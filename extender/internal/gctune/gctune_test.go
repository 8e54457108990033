package gctune

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTargetPercent(t *testing.T) {
	for name, tc := range map[string]struct{ live, percent, want uint64 }{
		"no collection yet":           {0, 50, 50},
		"a quarter of the floor":      {Floor / 4, 50, 300},
		"four times the live heap":    {Floor / 2, 50, 300},
		"the floor itself":            {Floor, 50, 133},
		"up to the ceiling":           {Ceiling / 2, 50, 100},
		"GOGC allows more":            {Ceiling * 3 / 4, 50, 50},
		"larger GOGC of the operator": {Floor / 4, 400, 400},
		"a large heap":                {10 * Floor, 50, 50},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, targetPercent(tc.live, tc.percent)) })
	}
}

func TestMinIdle_GrowsWithCollectionTime(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0:                      checkInterval, // no collection yet
		10 * time.Millisecond:  checkInterval,
		50 * time.Millisecond:  checkInterval,
		300 * time.Millisecond: 600 * time.Millisecond,
	} {
		require.Equal(t, want, minIdle(took), took)
	}
	require.Positive(t, collect())
}

func busy() time.Duration { return 0 }
func idle() time.Duration { return time.Hour }

// TestRun_KeepsFloorWhileHeapIsSmall reads the settings of the collector, in virtual time and with a real heap.
func TestRun_KeepsFloorWhileHeapIsSmall(t *testing.T) {
	before := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	unchanged := func(t *testing.T) {
		require.Equal(t, uint64(50), read("/gc/gogc:percent"))
		require.Equal(t, uint64(math.MaxInt64), read("/gc/gomemlimit:bytes"))
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- Run(ctx, busy) }()
		adjusted := func() {
			runtime.GC() // so that the live heap is known
			time.Sleep(adjustInterval)
			synctest.Wait()
		}
		adjusted()
		require.Greater(t, read("/gc/gogc:percent"), uint64(100))
		require.Equal(t, uint64(hardLimit), read("/gc/gomemlimit:bytes"))

		large := make([]byte, Ceiling)
		adjusted()
		unchanged(t)
		runtime.KeepAlive(large)

		adjusted()
		require.Greater(t, read("/gc/gogc:percent"), uint64(100), "the heap is small again")
		cancel()
		require.NoError(t, <-done)
		unchanged(t)
	})
}

// TestRun_CollectsWhenIdle fills half of the room of a real heap, first while requests arrive.
func TestRun_CollectsWhenIdle(t *testing.T) {
	before := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	live := make([]byte, 32<<20)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var idleTime atomic.Int64
		done := make(chan error)
		go func() { done <- Run(ctx, func() time.Duration { return time.Duration(idleTime.Load()) }) }()
		collected := func() uint64 {
			time.Sleep(checkInterval)
			synctest.Wait()
			return read("/gc/cycles/forced:gc-cycles")
		}
		runtime.GC()
		before := collected()
		idleTime.Store(int64(time.Minute))
		require.Equal(t, before, collected(), "the room is hardly used")

		garbage := make([]byte, 80<<20) // of 4 × 32 MiB of room
		idleTime.Store(int64(checkInterval - 1))
		require.Equal(t, before, collected(), "requests arrive all the time")
		idleTime.Store(int64(checkInterval))
		require.Equal(t, before+1, collected())
		runtime.KeepAlive(garbage)
		require.Equal(t, before+1, collected(), "there is room again")
		cancel()
		require.NoError(t, <-done)
	})
	runtime.KeepAlive(live)
}

func TestRun_RespectsMemoryLimitOfOperator(t *testing.T) {
	before := debug.SetMemoryLimit(1 << 30)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*adjustInterval)
		defer cancel()
		require.NoError(t, Run(ctx, idle))
		require.Equal(t, uint64(1<<30), read("/gc/gomemlimit:bytes"))
	})
}
