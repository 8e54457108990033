package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

func TestSetUsages_EndsTheSeriesOfOtherJobs(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry, func() time.Duration { return 0 })
	m.SetUsages([]metrics.JobUsage{{
		Pod:       growth.PodRef{Namespace: "ns", Name: "a"},
		Usage:     cgroup.Usage{Memory: 2, BlockIO: 5, Stalled: cgroup.Stalled{CPU: 1.5}},
		GPUMemory: 3,
	}})
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP trellis_job_gpu_memory_peak_bytes Most memory that a job has used on one of its GPUs: by the driver, or else by its framework with an allowance for the driver's context.
# TYPE trellis_job_gpu_memory_peak_bytes gauge
trellis_job_gpu_memory_peak_bytes{namespace="ns",pod="a"} 3.145728e+06
# HELP trellis_job_io_bytes_total Bytes that a job has transferred, by way: block, network.
# TYPE trellis_job_io_bytes_total counter
trellis_job_io_bytes_total{namespace="ns",pod="a",way="block"} 5
trellis_job_io_bytes_total{namespace="ns",pod="a",way="network"} 0
# HELP trellis_job_memory_bytes Memory in use by a job, without inactive page cache.
# TYPE trellis_job_memory_bytes gauge
trellis_job_memory_bytes{namespace="ns",pod="a"} 2.097152e+06
`), "trellis_job_gpu_memory_peak_bytes", "trellis_job_io_bytes_total", "trellis_job_memory_bytes"))
	m.SetUsages(nil)
	n, err := testutil.GatherAndCount(registry, "trellis_job_memory_bytes", "trellis_job_stalled_seconds_total")
	require.NoError(t, err)
	require.Zero(t, n)
}
