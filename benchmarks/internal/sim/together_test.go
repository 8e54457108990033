package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/sim"
	"github.com/trellis-gpu/trellis/growth"
)

// Worked by hand: plain sharing of a GPU on which jobs that compute at the same time are faster than one after the other.
func TestFairSharing_OfJobsThatComputeTogether(t *testing.T) {
	job := func(work, limit float64, speeds sim.Speeds, class int, gpu growth.GPU) sim.Job {
		return sim.Job{Work: work, Need: work, Limit: limit, On: []growth.GPU{gpu}, Speeds: speeds, Class: class}
	}
	two := sim.Speeds{{0.9, 0.6}, {0.8, 0.5}}
	for name, tc := range map[string]struct {
		jobs []sim.Job
		end  []float64
	}{
		"two jobs at 0.8":                  {[]sim.Job{job(8, 1, sim.Alike(0.8), 0, "a"), job(10, 1, sim.Alike(0.8), 0, "a")}, []float64{10, 12}},
		"at 0.5 as in turns":               {[]sim.Job{job(10, 1, sim.Alike(0.5), 0, "a"), job(5, 1, sim.Alike(0.5), 0, "a")}, []float64{15, 10}},
		"at 1 as alone":                    {[]sim.Job{job(10, 1, sim.Alike(1), 0, "a"), job(5, 1, sim.Alike(1), 0, "a")}, []float64{10, 5}},
		"three jobs at 0.5 as in turns":    {[]sim.Job{job(5, 1, sim.Alike(0.5), 0, "a"), job(5, 1, sim.Alike(0.5), 0, "a"), job(5, 1, sim.Alike(0.5), 0, "a")}, []float64{15, 15, 15}},
		"two classes":                      {[]sim.Job{job(6, 1, two, 0, "a"), job(8, 1, two, 1, "a")}, []float64{10, 10}},
		"on different GPUs":                {[]sim.Job{job(6, 1, two, 0, "a"), job(8, 1, two, 1, "b")}, []float64{6, 8}},
		"a job that waits for data enough": {[]sim.Job{job(2, 0.2, sim.Alike(0.8), 0, "a"), job(8, 1, sim.Alike(0.8), 0, "a")}, []float64{10, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := sim.Run(tc.jobs, 1, sim.Fair{})
			for i := range got {
				require.InDelta(t, tc.end[i], got[i].End, 1e-4)
			}
		})
	}
}
