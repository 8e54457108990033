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

func TestRoomy(t *testing.T) {
	for name, tc := range map[string]struct{ live, percent, want uint64 }{
		"nothing was ever collected":      {0, 50, 50},
		"a quarter of the floor":          {Floor / 4, 50, 300},
		"four times what is alive":        {Floor / 2, 50, 300},
		"the floor itself":                {Floor, 50, 133},
		"up to the ceiling":               {Ceiling / 2, 50, 100},
		"what GOGC says is more":          {Ceiling * 3 / 4, 50, 50},
		"an operator's larger GOGC holds": {Floor / 4, 400, 400},
		"a large heap":                    {10 * Floor, 50, 50},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, roomy(tc.live, tc.percent)) })
	}
}

func TestAHeapThatIsCollectedLongWaitsForALongPause(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0:                      often, // none was collected yet
		10 * time.Millisecond:  often,
		50 * time.Millisecond:  often,
		300 * time.Millisecond: 600 * time.Millisecond,
	} {
		require.Equal(t, want, enough(took), took)
	}
	require.Positive(t, collect())
}

func never() time.Duration  { return 0 }
func always() time.Duration { return time.Hour }

// TestAFloorIsKeptWhileTheHeapIsSmall looks at what the collector is told, in virtual time but about a real heap.
func TestAFloorIsKeptWhileTheHeapIsSmall(t *testing.T) {
	before := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	asBefore := func(t *testing.T) {
		require.Equal(t, uint64(50), read("/gc/gogc:percent"))
		require.Equal(t, uint64(math.MaxInt64), read("/gc/gomemlimit:bytes"))
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- Keep(ctx, never) }()
		looked := func() {
			runtime.GC() // so that it is known what lives
			time.Sleep(every)
			synctest.Wait()
		}
		looked()
		require.Greater(t, read("/gc/gogc:percent"), uint64(100))
		require.Equal(t, uint64(most), read("/gc/gomemlimit:bytes"))

		large := make([]byte, Ceiling)
		looked()
		asBefore(t)
		runtime.KeepAlive(large)

		looked()
		require.Greater(t, read("/gc/gogc:percent"), uint64(100), "it has become small again")
		cancel()
		require.NoError(t, <-done)
		asBefore(t)
	})
}

// TestThePauseIsUsed fills half of a real heap's room, first while somebody asks all the time.
func TestThePauseIsUsed(t *testing.T) {
	before := debug.SetGCPercent(400)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	held := make([]byte, 32<<20)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var pause atomic.Int64
		done := make(chan error)
		go func() { done <- Keep(ctx, func() time.Duration { return time.Duration(pause.Load()) }) }()
		collected := func() uint64 {
			time.Sleep(often)
			synctest.Wait()
			return read("/gc/cycles/forced:gc-cycles")
		}
		runtime.GC()
		so := collected()
		pause.Store(int64(time.Minute))
		require.Equal(t, so, collected(), "next to nothing has come since")

		garbage := make([]byte, 80<<20) // of 4 × 32 MiB of room
		pause.Store(int64(often - 1))
		require.Equal(t, so, collected(), "they ask all the time")
		pause.Store(int64(often))
		require.Equal(t, so+1, collected())
		runtime.KeepAlive(garbage)
		require.Equal(t, so+1, collected(), "there is room again")
		cancel()
		require.NoError(t, <-done)
	})
	runtime.KeepAlive(held)
}

func TestALimitOfTheOperatorsIsLeftAlone(t *testing.T) {
	before := debug.SetMemoryLimit(1 << 30)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*every)
		defer cancel()
		require.NoError(t, Keep(ctx, always))
		require.Equal(t, uint64(1<<30), read("/gc/gomemlimit:bytes"))
	})
}
