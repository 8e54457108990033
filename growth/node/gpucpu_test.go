package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// A node with two jobs, one after another reading.
func TestObservePressure(t *testing.T) {
	psi := func(part growth.Share) *bus.Pressure { return &bus.Pressure{CPU: part} }
	for name, tc := range map[string]struct {
		before bool // it was short of CPU
		psi    *bus.Pressure
		queued [2]growth.Share // of each job; negative if it is not known
		short  bool
	}{
		"tasks wait often":                     {false, psi(.3), [2]growth.Share{0, 0}, true},
		"tasks seldom wait":                    {true, psi(.05), [2]growth.Share{.9, 0}, false},
		"in between, as before: short":         {true, psi(.15), [2]growth.Share{}, true},
		"in between, as before: not short":     {false, psi(.15), [2]growth.Share{}, false},
		"without PSI, a job waits often":       {false, nil, [2]growth.Share{.05, .4}, true},
		"without PSI, no job waits often":      {true, nil, [2]growth.Share{.05, .02}, false},
		"without PSI, one job is not measured": {false, nil, [2]growth.Share{-1, .4}, true},
		"without PSI, nothing is measured":     {true, nil, [2]growth.Share{-1, -1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			n.cpuShort, n.pressure = tc.before, tc.psi
			for i, id := range []growth.PodUID{"a", "b"} {
				n.jobs[id] = &job{}
				if tc.queued[i] >= 0 {
					n.jobs[id].traffic.queued = &tc.queued[i]
				}
			}
			n.observePressure()
			require.Equal(t, tc.short, n.cpuShort)
		})
	}
}

func TestQueuedBetween(t *testing.T) {
	at := func(queued growth.Seconds) Usage { return Usage{Queued: queued, QueuedKnown: true} }
	require.InDelta(t, .25, float64(*queuedBetween(at(10), at(12.5), 10)), 1e-9)
	require.InDelta(t, 1, float64(*queuedBetween(at(0), at(40), 10)), 1e-9, "several threads have waited")
	require.InDelta(t, 0, float64(*queuedBetween(at(10), at(0), 10)), 1e-9, "a thread has ended")
	require.Nil(t, queuedBetween(Usage{}, at(1), 10))
	require.Nil(t, queuedBetween(at(0), at(1), 0))
}

// A step needs 0.3 core-seconds and 0.1 seconds of a GPU: three cores while the job computes.
func TestCPUNeed(t *testing.T) {
	for name, tc := range map[string]struct {
		share   growth.Share
		gpus    int
		perStep growth.Seconds // of CPU; 0 if it is not known
		cores   float64
	}{
		"all of the time":            {1, 1, .3, 3},
		"a third of the time":        {1. / 3, 1, .3, 1},
		"on two GPUs":                {.5, 2, .3, 3},
		"no turns":                   {0, 1, .3, 0},
		"its CPU is not measured":    {1, 1, 0, 0},
		"its steps need little data": {1, 1, .01, .1},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			j := &job{pod: Pod{Ref: growth.PodRef{UID: "a"}}}
			n.groups = []gpuGroup{{jobs: []gpuJob{{job: j, gpus: []growth.GPU{"0", "1"}[:tc.gpus]}}}}
			j.gpu.share = tc.share
			steps, cpu, gpu := int64(0), growth.Seconds(0), growth.Seconds(0)
			for range 10 {
				steps += 100
				cpu += 100 * tc.perStep
				gpu += 100 * .1
				j.gpu.cost.add(steps, gpu)
				if tc.perStep > 0 {
					j.cost.add(steps, cpu)
				}
			}
			require.InDelta(t, tc.cores, n.cpuNeed(j), .01)
		})
	}
}
