package workload_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
)

func TestWorkload_Stretched(t *testing.T) {
	jobs := workload.Workload{{Name: "a", Steps: 1000}, {Name: "b", Steps: 3}}
	require.Equal(t, workload.Workload{{Name: "a", Steps: 1500}, {Name: "b", Steps: 5}}, jobs.Stretched(1.5))
	require.Equal(t, workload.Workload{{Name: "a", Steps: 100}, {Name: "b", Steps: 1}}, jobs.Stretched(0.1), "at least a step")
	require.Equal(t, 1000, jobs[0].Steps, "the workload itself stays as it is")
}

func TestWorkload_SpedUp(t *testing.T) {
	jobs := workload.Workload{{Name: "a", Steps: 1000, Arrival: time.Minute}, {Name: "b", Steps: 3, Arrival: time.Hour}}
	require.Equal(t, workload.Workload{{Name: "a", Steps: 100, Arrival: 6 * time.Second}, {Name: "b", Steps: 1, Arrival: 6 * time.Minute}}, jobs.SpedUp(10))
	require.Equal(t, 2*time.Hour, jobs.SpedUp(0.5)[1].Arrival)
}
