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
					j.gpu.charge(charged{all: 100 * perStep, work: 100 * perStep}, 1)
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

// The interval in which the batch size changes has steps of both sizes: their cost is that of none.
func TestWatchPhase_LeavesOutTheIntervalOfAChange(t *testing.T) {
	n := New(Config{})
	j := gpuJob{job: &job{pod: Pod{Ref: growth.PodRef{UID: "a"}}}}
	tick := func(batchSize int, steps int64) { // in the order of Ticked
		j.running = wire.Values{BatchSize: &batchSize}
		j.counter.steps += steps
		j.gpu.charge(charged{all: 5, work: 5}, 1)
		n.watchPhase(j)
		j.measureGPUCost()
	}
	tick(32, 50)
	tick(32, 50)
	require.True(t, j.gpu.exact)
	tick(64, 45)
	require.False(t, j.gpu.exact)
	require.True(t, j.gpu.stale)
	tick(64, 25)
	require.True(t, j.gpu.exact)
	mean, _ := j.gpu.cost.perStep()
	require.InDelta(t, .2, float64(mean), 1e-9)
}

// A look between two ticks does not change what a job did in the last interval.
func TestSummariseUse_IsOfWholeIntervals(t *testing.T) {
	for name, looks := range map[string][]float64{"one look": {5}, "a look just before the tick": {4.999, .001}} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			n.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			j := gpuJob{job: &job{pod: Pod{Ref: growth.PodRef{UID: "a"}}}, gpus: []growth.GPU{"gpu"}}
			g := gpuGroup{gpus: j.gpus, jobs: []gpuJob{j}}
			for i, d := range looks {
				before := n.now
				n.now = n.now.Add(time.Duration(d * float64(time.Second)))
				held := growth.Seconds(2) // at first
				if i > 0 {
					held = growth.Seconds(d)
				}
				n.chargeGroup(g, []gpuReading{{alone: held, measured: true}}, before)
			}
			j.summariseUse()
			require.InDelta(t, .4, float64(j.gpu.recent.held), .001)
		})
	}
}
