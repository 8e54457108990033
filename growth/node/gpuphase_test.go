package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// A job whose steps took 0.1 s with batches of 64 and 4 workers, and whose speed was measured then.
func TestWatchPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		batchSize, loaders int
		perStep            growth.Seconds
		old                bool // its measured speeds
		stale              bool // the cost of its steps
	}{
		"nothing changes":             {64, 4, .1, false, false},
		"its steps vary":              {64, 4, .12, false, false},
		"its steps become longer":     {64, 4, .2, true, false},
		"its steps become shorter":    {64, 4, .05, true, false},
		"another number of workers":   {64, 8, .1, true, false},
		"another batch size":          {128, 4, .1, true, true},
		"the settings become unknown": {0, 0, .1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			n.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			n.speeds.Now = n.now
			j := gpuJob{job: &job{pod: Pod{Ref: growth.PodRef{UID: "a"}}}}
			interval := func(batchSize, loaders int, perStep growth.Seconds) {
				j.running = wire.Values{}
				if batchSize > 0 {
					j.running = wire.Values{BatchSize: &batchSize, Loaders: &loaders}
				}
				for range 10 {
					j.counter.steps += 100
					j.gpu.used += 100 * perStep
					j.measureGPUCost()
				}
				n.watchPhase(j)
			}
			interval(64, 4, .1)
			n.speeds.Add(j.interferes(), []corun.Kind{"b"}, .5, 60)
			require.False(t, n.speeds.Old(j.interferes(), "b"))
			interval(tc.batchSize, tc.loaders, tc.perStep)
			require.Equal(t, tc.old, n.speeds.Old(j.interferes(), "b"))
			require.Equal(t, tc.stale, j.gpu.stale)
			require.Equal(t, !tc.stale, j.gpu.exact)
			interval(tc.batchSize, tc.loaders, tc.perStep)
			require.False(t, j.gpu.stale, "the cost is measured again")
			require.True(t, j.gpu.exact)
		})
	}
}
