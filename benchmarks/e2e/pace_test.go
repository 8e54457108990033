//go:build e2e && linux

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/demo"
	"github.com/trellis-gpu/trellis/benchmarks/internal/training"
	"github.com/trellis-gpu/trellis/benchmarks/jobs"
)

func TestPace_MeasuresWithARealJob(t *testing.T) {
	scripts, err := jobs.Scripts()
	require.NoError(t, err)
	times, err := demo.Pace{Python: training.MachinePython, Scripts: scripts}.Measure(t.Context())
	require.NoError(t, err)
	require.Positive(t, times)
}
