package move_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/internal/race"
)

// Numbers of histories that a model plays.
const (
	allHistories = 100_000
	// fewHistories are played by short tests, and with the race detector: a history has one goroutine.
	fewHistories = 5_000
)

// histories plays a model with each seed on all cores, and counts how the histories end. It stops at the first error.
func histories(t *testing.T, play func(seed uint64) (end string, err error)) map[string]int {
	t.Helper()
	count := uint64(allHistories)
	if testing.Short() || race.Enabled {
		count = fewHistories
	}
	var mu sync.Mutex
	ends := map[string]int{"all": int(count)}
	var failed error
	var wait sync.WaitGroup
	cores := uint64(runtime.GOMAXPROCS(0))
	for core := range cores {
		wait.Go(func() {
			for seed := core; seed < count; seed += cores {
				end, err := play(seed)
				mu.Lock()
				ends[end]++
				if err != nil && failed == nil {
					failed = fmt.Errorf("seed %d: %w", seed, err)
				}
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wait.Wait()
	require.NoError(t, failed)
	return ends
}
