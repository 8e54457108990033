package node

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// outsideInterval is one interval of 10 s of a job that takes turns.
type outsideInterval struct {
	held             growth.Seconds // as its turns say
	kernels, elapsed growth.Seconds // as the driver measures since its last record
}

func TestCheckTurns(t *testing.T) {
	honest := outsideInterval{held: 3, kernels: 3, elapsed: 10}
	ignores := outsideInterval{held: 3, kernels: 9, elapsed: 10}
	times := func(n int, i ...outsideInterval) []outsideInterval { return slices.Repeat(i, n) }
	for name, c := range map[string]struct {
		intervals []outsideInterval
		mps       bool
		open      bool           // the jobs compute at the same time
		events    int            // warnings
		last      growth.Seconds // charge of the last interval
	}{
		"kernels run in the turns":              {intervals: times(100, honest), last: 3},
		"samples are rounded up":                {intervals: times(100, outsideInterval{held: 3, kernels: 3.9, elapsed: 10}), last: 3},
		"the job launches little in its turns":  {intervals: times(100, outsideInterval{held: 8, kernels: 1, elapsed: 10}), last: 8},
		"a record is late":                      {intervals: times(30, honest, outsideInterval{held: 3}, outsideInterval{held: 3, kernels: 6, elapsed: 20}), last: 3},
		"a record is about a time before turns": {intervals: append(times(1, outsideInterval{kernels: 15, elapsed: 15}), times(20, honest)...), last: 3},
		"late records, shares that change": {intervals: times(20,
			outsideInterval{held: 1, kernels: 9, elapsed: 10}, outsideInterval{held: 9, kernels: 1, elapsed: 10}), last: 9},
		"not yet seen twice":       {intervals: times(5, ignores), last: 3},
		"kernels run all the time": {intervals: times(6, ignores), events: 1, last: 9},
		"one warning in 5 minutes": {intervals: times(40, ignores), events: 2, last: 9},
		"it keeps its turns again": {intervals: append(times(6, ignores), times(6, honest)...), events: 1, last: 3},
		"the driver starts again":  {intervals: append(times(5, ignores), outsideInterval{held: 3, elapsed: -50}, ignores), last: 3},
		"all compute together":     {intervals: times(100, ignores), open: true, last: 3},
		"clients of MPS":           {intervals: times(100, ignores), mps: true, last: 3},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{}
			j := gpuJob{job: &job{eventTimes: map[string]time.Time{}}, gpus: []growth.GPU{"GPU-0"}, overlaps: c.mps}
			j.gpu.paused = !c.open
			var r gpuReading
			for i, interval := range c.intervals {
				n.now = time.Unix(int64(10*i), 0)
				r = n.checkTurns(j, gpuReading{alone: interval.held, measured: true}, interval.kernels, interval.elapsed)
			}
			require.InDelta(t, float64(c.last), float64(r.alone+r.shared), 1e-9)
			require.Len(t, n.out.Events, c.events)
			for _, e := range n.out.Events {
				require.Equal(t, "TurnIgnored", e.Reason)
				require.True(t, e.Warning)
			}
		})
	}
}

// The node reads more often than the device plugin writes. No time is charged twice.
func TestCheckTurns_ChargesEachSecondOnce(t *testing.T) {
	n := &Node{}
	j := gpuJob{job: &job{eventTimes: map[string]time.Time{}}, gpus: []growth.GPU{"GPU-0"}}
	j.gpu.paused = true
	j.gpu.outside.windows = outsideWindows
	charged := growth.Seconds(0)
	for range 20 {
		for _, interval := range []outsideInterval{{held: 1}, {held: 1}, {held: 1, kernels: 9, elapsed: 10}, {held: 4}, {held: 4, kernels: 2, elapsed: 10}} {
			r := n.checkTurns(j, gpuReading{alone: interval.held, measured: true}, interval.kernels, interval.elapsed)
			require.True(t, r.exact)
			charged += r.alone + r.shared
		}
		j.gpu.outside = gpuOutside{windows: outsideWindows}
	}
	require.InDelta(t, 20*(9+8), float64(charged), 1e-9)
}
