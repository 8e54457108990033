package demo

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAgainst_RelativeSpeed(t *testing.T) {
	for name, tc := range map[string]struct {
		times, want float64
	}{
		"the one that the jobs are made for": {1, 1},
		"hardly faster":                      {1.2, 1},
		"hardly slower":                      {0.85, 1},
		"twice as fast":                      {2, 2},
		"beyond belief":                      {100, fastest},
		"slower":                             {0.7, 0.7},
		"too slow to follow":                 {0.1, slowest},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDelta(t, tc.want, against(time.Duration(float64(meant)/tc.times)), 1e-6)
		})
	}
}

func TestStepTime_FromTheOutput(t *testing.T) {
	step, err := stepTime([]byte("training gru at step 0\nstep=20 loss=2.1\nfinished gru at step 50 after 2.5 s: loss=0.5 state=ab\n"))
	require.NoError(t, err)
	require.Equal(t, 50*time.Millisecond, step)
	for name, output := range map[string]string{
		"nothing":     "",
		"interrupted": "interrupted gru at step 100 after 2.0 s: loss=1.0 state=ab\n",
		"no time":     "finished gru at step 100 after 0.0 s: loss=1.0 state=ab\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stepTime([]byte(output))
			require.Error(t, err)
		})
	}
}

// The interpreter here is the shell, and the training program one of its scripts: the second time it takes half as long.
func TestPace_TakesTheFastest(t *testing.T) {
	script := `seconds=1.0; if [ -e again ]; then seconds=0.5; mv again done; elif [ ! -e done ]; then touch again; fi
		echo "finished $1 at step $3 after $seconds s: state=ab"`
	times, err := Pace{"/bin/sh", map[string]string{"run.py": script}}.Measure(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 2*paceSteps*meant.Seconds(), times, 1e-9)
}

func TestPace_WithoutPyTorch(t *testing.T) {
	_, err := Pace{"/bin/sh", map[string]string{"run.py": "echo no module named torch >&2; exit 1"}}.Measure(t.Context())
	require.ErrorContains(t, err, "no module named torch")
}

func TestPace_EndsWithItsContext(t *testing.T) {
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := Pace{"/bin/sh", map[string]string{"run.py": "exit 0"}}.Measure(ctx)
	require.ErrorIs(t, err, why)
}
