package deadlinesim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/deadlinesim"
	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/growth"
)

// experiment has invented measurements and loads in place of the published ones.
func experiment(t *testing.T) deadlinesim.Experiment {
	t.Helper()
	layout := deadlinesim.Layouts()[0]
	layout.Jobs = 20
	var rows []qoredl.Iteration
	for i := range 5 {
		for _, cpu := range []float64{0.5, 0.8, 1, 1.3, 1.6} {
			rows = append(rows, qoredl.Iteration{
				Configuration: qoredl.Configuration{Batch: 200 * (i + 1), FLOPs: 1, Params: float64(i + 1)},
				Allocation:    qoredl.Allocation{CPU: cpu, Memory: 1},
				Hundred:       growth.Seconds(100 * (0.1*float64(i) + 0.5/min(cpu, 1+0.1*float64(i)))),
			})
		}
	}
	laws, err := deadlinesim.Laws(rows)
	require.NoError(t, err)
	var samples []qoredl.Utilisation
	for _, machine := range layout.Traced {
		for at := range 100 {
			cpu := 0.4 + 0.2*math.Sin(float64(at))
			samples = append(samples, qoredl.Utilisation{Machine: machine, At: growth.Seconds(200 * at), CPU: cpu, Memory: 0.2})
		}
	}
	trace, err := deadlinesim.NewTrace(samples)
	require.NoError(t, err)
	return deadlinesim.Experiment{Layout: layout, Trace: trace, Laws: laws, Load: 0.75}
}

func TestRun_IsDeterministicAndComplete(t *testing.T) {
	e := experiment(t)
	first := deadlinesim.Run(e, deadlinesim.Systems(), 2)
	require.Equal(t, first, deadlinesim.Run(e, deadlinesim.Systems(), 2))
	ceiling := first[len(first)-1]
	for _, r := range first {
		for seed, o := range r.Outcomes {
			require.GreaterOrEqual(t, o.Met, 0.0)
			require.LessOrEqual(t, o.Met, 1.0)
			if r.System != ceiling.System && o.Weighted > 0 {
				require.Greater(t, o.Completion, o.Wait)
				require.Less(t, o.Completion, 86_400.0, "%s, seed %d: all jobs end", r.System, seed)
			}
		}
	}
	require.Zero(t, first[0].Outcomes[0].Harmed, "nobody is harmed by the baseline")
}

func TestFigures_HaveSubjects(t *testing.T) {
	e := experiment(t)
	for _, g := range deadlinesim.Figures(e, deadlinesim.Run(e, deadlinesim.Systems()[:2], 2), true) {
		require.Contains(t, g.Name, ": ")
		require.False(t, math.IsNaN(g.Value), g.Name)
	}
}

func TestFigures_CompareDeadlinesWithTheSameSystemWithoutThem(t *testing.T) {
	e := experiment(t)
	names := map[string]bool{}
	for _, g := range deadlinesim.Figures(e, deadlinesim.Run(e, deadlinesim.Few(), 2), false) {
		names[g.Name] = true
		require.False(t, math.IsNaN(g.Value), g.Name)
	}
	require.Contains(t, names, "7 hosts, load 0.75, Trellis, relative to Trellis without deadlines: greatest delay of a workload")
	require.Contains(t, names, "7 hosts, load 0.75, Trellis, relative to even split: without")
	require.Contains(t, names, "7 hosts, load 0.75, ceiling, one large host and exact sizes: change of U")
}
