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
