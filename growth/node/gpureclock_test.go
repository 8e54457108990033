package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

// Two jobs compute at the same time, each at 0.55 of its speed alone, as that was measured: 0.1 GPU-seconds per step.
func TestReclock(t *testing.T) {
	for name, tc := range map[string]struct {
		perStep  growth.Seconds // alone, when it is measured again
		together bool
		cost     growth.Work
	}{
		"the first steps took longer": {.09, false, .09},
		"it was right":                {.1, true, .1},
		"steps too long to be seen":   {3, true, .1},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			n.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			g := n.twoJobs(2)
			g.gains = true
			n.clocks["gpu"] = clock{began: n.now}
			n.speeds.Now = n.now.Add(time.Second)
			n.speeds.Add("pod a", []corun.Kind{"pod b"}, .55, 20)
			n.speeds.Add("pod b", []corun.Kind{"pod a"}, .55, 20)
			n.speeds.Entries[0].Speed.Deviation, n.speeds.Entries[1].Speed.Deviation = 0, 0

			n.chooseTurns(&g)
			require.True(t, g.together)
			require.Equal(t, n.now.Add(firstReclock), n.probesDue)
			n.alone(g, firstReclock-time.Second, 0)
			n.chooseTurns(&g)
			require.True(t, g.together, "not yet")

			n.alone(g, time.Second, 0)
			n.chooseTurns(&g)
			require.True(t, g.turns && g.clocking)
			for k := 0; g.clocking; k++ {
				require.LessOrEqual(t, k, 5, "a few seconds at most")
				n.alone(g, time.Second, tc.perStep)
				n.chooseTurns(&g)
			}
			require.Equal(t, tc.together, g.together)
			for _, j := range g.jobs {
				cost, _ := j.gpu.cost.perStep()
				require.InDelta(t, float64(tc.cost), float64(cost), 1e-9)
				require.True(t, j.clocked())
			}

			n.alone(g, 2*firstReclock-time.Second, 0)
			n.chooseTurns(&g)
			require.False(t, g.clocking, "after twice the time")
			n.alone(g, time.Second, 0)
			n.chooseTurns(&g)
			require.Equal(t, tc.together, g.clocking)
			for k := 0; g.clocking; k++ {
				require.LessOrEqual(t, k, 5)
				n.alone(g, time.Second, .12)
				n.chooseTurns(&g)
			}
			for _, j := range g.jobs {
				cost, _ := j.gpu.cost.perStep()
				require.Equal(t, tc.together, cost > tc.cost && cost < .12, "a later measurement counts next to those before")
			}
		})
	}
}

// Jobs that were measured again a few times wait for long. With a new one among them they do not.
func TestReclock_ANewJobIsMeasuredSoon(t *testing.T) {
	n := New(Config{})
	n.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := n.twoJobs(2)
	n.clocks["gpu"] = clock{began: n.now, wait: time.Hour, again: []growth.PodUID{"a"}}
	require.False(t, n.reclock(&g))
	n.now = n.now.Add(firstReclock)
	require.True(t, n.reclock(&g))
	n.now = n.now.Add(reclockLimit)
	n.endReclock(g)
	require.False(t, n.reclock(&g))
	require.Equal(t, 2*firstReclock, n.clocks["gpu"].wait, "it is not new any more")
}

// alone lets the jobs of a group compute in equal turns for a while.
func (n *Node) alone(g gpuGroup, d time.Duration, perStep growth.Seconds) {
	n.now = n.now.Add(d)
	for _, j := range g.jobs {
		if perStep == 0 {
			continue
		}
		held := growth.Seconds(d.Seconds()) / growth.Seconds(len(g.jobs))
		if made := int64(held/perStep + .5); made > 0 {
			j.counter.steps += made
			held = growth.Seconds(made) * perStep
			j.stepped = n.now
		}
		j.gpu.charge(charged{all: held, work: held}, 1)
		j.measureGPUCost()
	}
}
