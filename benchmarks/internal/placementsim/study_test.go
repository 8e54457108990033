package placementsim_test

import (
	"testing"

	"github.com/trellis-gpu/trellis/benchmarks/internal/placementsim"
	"github.com/trellis-gpu/trellis/growth"
)

func TestRun(t *testing.T) {
	for _, window := range []float64{200, 800, 1600} {
		for _, sharing := range []placementsim.Sharing{placementsim.Plain, placementsim.Turns} {
			e := placementsim.Experiment{
				Layout:   placementsim.Layout{Nodes: 2, GPUs: 4, Memory: 24 * growth.GiB},
				Speeds:   placementsim.Published(),
				Workload: placementsim.Workload{Jobs: 40, Window: window},
				Sharing:  sharing,
			}
			t.Log(window, sharing)
			for _, r := range placementsim.Run(e, placementsim.Policies(), 50) {
				t.Logf("%-24s %8.1f s  %+6.2f %% (%+.2f to %+.2f)", r.Policy, r.Completion, r.Change, r.Low, r.High)
			}
		}
	}
}
