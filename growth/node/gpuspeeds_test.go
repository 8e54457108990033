package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
)

// Job a computes next to b and c, each of which waits for data in a part of its steps. The work is what a has done with the true
// speeds. After some measurements with other times, what is known of each combination is near the truth.
func TestMeasureSpeeds_OfJobsThatWaitForData(t *testing.T) {
	both, onlyB, onlyC := []growth.PodUID{"b", "c"}, []growth.PodUID{"b"}, []growth.PodUID{"c"}
	for name, tc := range map[string]struct {
		both, onlyB, onlyC growth.Seconds // held
		other              growth.Seconds // held next to jobs that are not known
		speeds             [3]float64     // the true ones
		measured           bool
	}{
		"kernels that do not overlap": {7, 1.5, 1.5, 0, [3]float64{1. / 3, .5, .5}, true},
		"jobs with gaps":              {7, 1.5, 1.5, 0, [3]float64{.83, .9, .9}, true},
		"c has gaps":                  {6, 2, 2, 0, [3]float64{.42, .5, .72}, true},
		"always all of them":          {10, 0, 0, 0, [3]float64{.4, 0, 0}, true},
		"unknown company":             {7, 1, 1, 1, [3]float64{.4, .5, .5}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Config{})
			for _, id := range []growth.PodUID{"a", "b", "c"} {
				n.jobs[id] = &job{pod: Pod{Ref: growth.PodRef{UID: id}}}
			}
			a := gpuJob{job: n.jobs["a"], gpus: []growth.GPU{"gpu"}}
			for i := range 20 {
				b, c := growth.Seconds(1+i%3), growth.Seconds(1+i/3%3)
				s := span{together: []Together{{both, tc.both}, {onlyB, b * tc.onlyB}, {onlyC, c * tc.onlyC}}, other: tc.other}
				work := 0.0
				for k, t := range s.together {
					work += float64(t.Held) * tc.speeds[k]
				}
				if s.clean() {
					n.addSpeeds(a, s.together, growth.Seconds(work))
				}
			}
			for k, others := range [][]corun.Kind{{"pod b", "pod c"}, {"pod b"}, {"pod c"}} {
				s, known := n.speeds.Predict("pod a", others)
				require.Equal(t, tc.measured && tc.speeds[k] > 0, known, "%v", others)
				if known {
					require.InDelta(t, tc.speeds[k], s.Mean, .1, "%v", others)
				}
			}
		})
	}
}
