package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Two jobs that never wait for data, with half of the time of a GPU each.
func TestProspect(t *testing.T) {
	for name, tc := range map[string]struct {
		speed    float64 // as other nodes have measured it, 0 for a pair that was not measured
		measured int     // how often
		mayPay   bool
		saved    float64
	}{
		"the prior":                        {0, 0, true, .27},
		"a pair that pays":                 {.95, 10, true, .46},
		"a pair that is as fast as turns":  {.5, 10, false, -.03},
		"a pair that is slower than turns": {.3, 10, false, -.75},
		"no gain, by a single measurement": {.5, 1, true, -.1},
	} {
		t.Run(name, func(t *testing.T) {
			l := interference.NewLearner(interference.Prior())
			job := func(program string) gpuJob {
				j := &job{pod: Pod{Ref: growth.PodRef{Namespace: "ns"}, Program: program}}
				j.gpu.share = .5
				return gpuJob{job: j}
			}
			a, b := job("a"), job("b")
			for range tc.measured {
				set := []interference.Member{{Kind: a.published(), Speed: tc.speed}, {Kind: b.published(), Speed: tc.speed}}
				require.NoError(t, l.Observe(interference.Measurement{Set: set, Seconds: 10}))
			}
			n := &Node{model: l.Model()}
			p := n.prospect(a, b)
			require.Equal(t, tc.mayPay, p.mayPay(), "%v", p.slowdowns)
			require.InDelta(t, tc.saved, p.saved(), .05)
		})
	}
}

// Jobs of this kind wait for data half of the time, and take a quarter longer next to each other. A job whose steps have
// not been timed is expected to be like them, and says nothing about the kind's activity.
func TestSlowdown_AJobWithoutStepTimesIsAsActiveAsItsKind(t *testing.T) {
	l := interference.NewLearner(interference.Prior())
	pod := Pod{Ref: growth.PodRef{Namespace: "ns"}, Program: "a"}
	untimed, timed := gpuJob{job: &job{pod: pod}}, gpuJob{job: &job{pod: pod, rates: rates{step: 2, load: 1}}}
	measured := interference.Member{Kind: untimed.published(), Activity: timed.activity(), Speed: .8}
	for range 20 {
		require.NoError(t, l.Observe(interference.Measurement{
			Set:     []interference.Member{measured, measured},
			Seconds: 60,
		}))
	}
	n := &Node{model: l.Model()}
	require.InDelta(t, .5, float64(timed.activity()), 1e-9)
	require.Zero(t, untimed.activity())
	for _, other := range []gpuJob{timed, untimed} {
		p, _ := n.slowdown(untimed, other)
		require.InDelta(t, 1.25, float64(p.Mean), .02)
	}
}
