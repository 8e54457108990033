package demo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

func TestHowFastAMachineIs(t *testing.T) {
	for name, tc := range map[string]struct {
		steps, want float64 // how many times as fast they are
	}{
		"the one that the jobs are made for": {1, 1},
		"hardly faster":                      {1.1, 1},
		"slower":                             {0.4, 1},
		"twice as fast":                      {2, 2},
		"beyond belief":                      {100, fastest},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := faster(fmt.Appendf(nil, "training gru at step 0\nstep=20 loss=2.1\nfinished gru at step 1000 after %.3f s: loss=0.5 state=ab\n", 1000*meant.Seconds()/tc.steps))
			require.NoError(t, err)
			require.InDelta(t, tc.want, got, 1e-9)
		})
	}
	for name, output := range map[string]string{
		"nothing":     "",
		"interrupted": "interrupted gru at step 100 after 2.0 s: loss=1.0 state=ab\n",
		"no time":     "finished gru at step 200 after 0.0 s: loss=1.0 state=ab\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := faster([]byte(output))
			require.Error(t, err)
		})
	}
}

// The interpreter here is the shell, and the training program one of its scripts.
func TestAMachineIsTimedByAJob(t *testing.T) {
	times, err := Pace{"/bin/sh", map[string]string{"run.py": `echo "finished $1 at step $3 after 1.0 s: state=ab"`}}.Measure(t.Context())
	require.NoError(t, err)
	require.InDelta(t, paceSteps*meant.Seconds(), times, 1e-9)

	_, err = Pace{"/bin/sh", map[string]string{"run.py": "echo no module named torch >&2; exit 1"}}.Measure(t.Context())
	require.ErrorContains(t, err, "no module named torch")
}

func TestJobsForAFasterMachine(t *testing.T) {
	jobs := workload.Workload{{Name: "a", Steps: 1000}, {Name: "b", Steps: 3}}
	require.Equal(t, workload.Workload{{Name: "a", Steps: 1500}, {Name: "b", Steps: 5}}, jobs.Longer(1.5))
	require.Equal(t, 1000, jobs[0].Steps, "the workload itself stays as it is")
}
