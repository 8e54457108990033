package heap

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
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
		go func() { done <- Keep(ctx) }()
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

func TestALimitOfTheOperatorsIsLeftAlone(t *testing.T) {
	before := debug.SetMemoryLimit(1 << 30)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*every)
		defer cancel()
		require.NoError(t, Keep(ctx))
		require.Equal(t, uint64(1<<30), read("/gc/gomemlimit:bytes"))
	})
}
