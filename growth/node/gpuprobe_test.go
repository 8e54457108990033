package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
)

// Two jobs of the same GPU in a probe of 2.5 s, with 0.1 GPU-seconds per step alone.
func TestProbedRate(t *testing.T) {
	for name, tc := range map[string]struct {
		steps   [2]int64
		held    [2]growth.Seconds
		clocked int
		rate    float64 // 0 if it is not known
	}{
		"as much as in turns":                 {[2]int64{12, 13}, [2]growth.Seconds{2.5, 2.5}, 2, 1},
		"more than in turns":                  {[2]int64{20, 20}, [2]growth.Seconds{2.5, 2.5}, 2, 1.6},
		"one waits for data":                  {[2]int64{6, 19}, [2]growth.Seconds{1.2, 2.5}, 2, 1},
		"too few steps to say":                {[2]int64{4, 12}, [2]growth.Seconds{2.5, 2.5}, 2, 0},
		"the other is not known, but like it": {[2]int64{12, 0}, [2]growth.Seconds{2.5, 2.5}, 1, .96},
		"the other still starts":              {[2]int64{25, 0}, [2]growth.Seconds{2.5, 0}, 1, 1},
		"nothing is known":                    {[2]int64{12, 12}, [2]growth.Seconds{2.5, 2.5}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			g := gpuGroup{gpus: []growth.GPU{"gpu"}}
			for i, id := range []growth.PodUID{"a", "b"} {
				j := &job{pod: Pod{Ref: growth.PodRef{UID: id}}}
				if i < tc.clocked {
					for range 3 {
						j.counter.steps += 100
						j.gpu.used += 10
						j.measureGPUCost()
					}
				}
				g.jobs = append(g.jobs, gpuJob{job: j, gpus: g.gpus})
			}
			p := g.newProbe(n.now)
			n.now = n.now.Add(probeTime)
			for i, j := range g.jobs {
				j.counter.steps += tc.steps[i]
				j.gpu.seen.Held += tc.held[i]
			}
			rate, known := n.probedRate(g, p)
			require.Equal(t, tc.rate > 0, known)
			require.InDelta(t, tc.rate, rate, .01)
		})
	}
}

func TestProbe_IncludesTwo(t *testing.T) {
	p := probe{jobs: []growth.PodUID{"a", "b", "c"}}
	for name, tc := range map[string]struct {
		jobs []growth.PodUID
		two  bool
	}{
		"one has left":        {[]growth.PodUID{"a", "c"}, true},
		"many are new":        {[]growth.PodUID{"a", "b", "d", "e", "f"}, true},
		"only one of several": {[]growth.PodUID{"a", "d", "e"}, false},
		"all are new":         {[]growth.PodUID{"d"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.two, p.includesTwo(tc.jobs)) })
	}
}
