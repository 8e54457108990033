package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

func TestWorkload_Stretched(t *testing.T) {
	jobs := workload.Workload{{Name: "a", Steps: 1000}, {Name: "b", Steps: 3}}
	require.Equal(t, workload.Workload{{Name: "a", Steps: 1500}, {Name: "b", Steps: 5}}, jobs.Stretched(1.5))
	require.Equal(t, workload.Workload{{Name: "a", Steps: 100}, {Name: "b", Steps: 1}}, jobs.Stretched(0.1), "at least a step")
	require.Equal(t, 1000, jobs[0].Steps, "the workload itself stays as it is")
}
