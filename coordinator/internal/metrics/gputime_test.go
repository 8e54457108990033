package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

func TestSetGPUTimes_EndsTheSeriesOfOtherJobs(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry, func() time.Duration { return 0 })
	m.SetGPUTimes([]metrics.JobGPUTime{{
		Pod:  growth.PodRef{Namespace: "ns", Name: "a"},
		Time: bus.GPUTime{Share: .75, Held: 40, Alone: 28, InSets: 10, SetSpeed: .8, Waited: 10, Kept: 3, Work: 29},
	}})
	names := []string{"trellis_job_gpu_share_ratio", "trellis_job_gpu_held_seconds_total", "trellis_job_gpu_waited_seconds_total",
		"trellis_job_gpu_set_speed_ratio", "trellis_job_gpu_work_seconds_total"}
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP trellis_job_gpu_held_seconds_total Time for which a job had its GPUs, by mode. It computed: alone on them, in a set of jobs that hold the turn together, or shared with other jobs. Or they were kept while it waited for data.
# TYPE trellis_job_gpu_held_seconds_total counter
trellis_job_gpu_held_seconds_total{mode="alone",namespace="ns",pod="a"} 28
trellis_job_gpu_held_seconds_total{mode="kept",namespace="ns",pod="a"} 3
trellis_job_gpu_held_seconds_total{mode="set",namespace="ns",pod="a"} 10
trellis_job_gpu_held_seconds_total{mode="shared",namespace="ns",pod="a"} 2
# HELP trellis_job_gpu_set_speed_ratio Measured speed of a job in the set with which it holds the turn, relative to computing alone.
# TYPE trellis_job_gpu_set_speed_ratio gauge
trellis_job_gpu_set_speed_ratio{namespace="ns",pod="a"} 0.8
# HELP trellis_job_gpu_share_ratio Part of the time of its GPUs that a job has, 0 to 1: decided for turns, or equal while the jobs compute at the same time.
# TYPE trellis_job_gpu_share_ratio gauge
trellis_job_gpu_share_ratio{namespace="ns",pod="a"} 0.75
# HELP trellis_job_gpu_waited_seconds_total Time in which a job was ready to compute and waited for its turn.
# TYPE trellis_job_gpu_waited_seconds_total counter
trellis_job_gpu_waited_seconds_total{namespace="ns",pod="a"} 10
# HELP trellis_job_gpu_work_seconds_total Work that a job was charged, in GPU-seconds.
# TYPE trellis_job_gpu_work_seconds_total counter
trellis_job_gpu_work_seconds_total{namespace="ns",pod="a"} 29
`), names...))
	m.SetGPUTimes(nil)
	n, err := testutil.GatherAndCount(registry, names...)
	require.NoError(t, err)
	require.Zero(t, n)
}
