package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// JobGPUTime is the part of one job of the time of its GPUs.
type JobGPUTime struct {
	Pod  growth.PodRef
	Time bus.GPUTime
}

// SetGPUTimes sets the GPU time of all jobs on GPUs whose time is divided. The series of other jobs end.
func (m *Metrics) SetGPUTimes(jobs []JobGPUTime) {
	m.gpuTimes.mu.Lock()
	defer m.gpuTimes.mu.Unlock()
	m.gpuTimes.jobs = jobs
}

// gpuTimes collects the GPU times that were set last.
type gpuTimes struct {
	mu   sync.Mutex
	jobs []JobGPUTime
}

var (
	gpuShare = describe("gpu_share_ratio", "Part of the time of its GPUs that a job has, 0 to 1: decided for turns, or equal while the jobs compute at the same time.")
	gpuHeld  = describe("gpu_held_seconds_total", "Time for which a job had its GPUs, by mode. It computed: alone on them, in a set of jobs that hold the turn together, or shared with other jobs. Or they were kept while it waited for data.", "mode")
	gpuWait  = describe("gpu_waited_seconds_total", "Time in which a job was ready to compute and waited for its turn.")
	gpuSpeed = describe("gpu_set_speed_ratio", "Measured speed of a job in the set with which it holds the turn, relative to computing alone.")
	gpuWork  = describe("gpu_work_seconds_total", "Work that a job was charged, in GPU-seconds.")
)

// Describe implements prometheus.Collector.
func (g *gpuTimes) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{gpuShare, gpuHeld, gpuWait, gpuSpeed, gpuWork} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gpuTimes) Collect(out chan<- prometheus.Metric) {
	g.mu.Lock()
	jobs := g.jobs
	g.mu.Unlock()
	for _, j := range jobs {
		emit := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, kind, value, append([]string{j.Pod.Namespace, j.Pod.Name}, labels...)...)
		}
		emit(gpuShare, prometheus.GaugeValue, float64(j.Time.Share))
		emit(gpuHeld, prometheus.CounterValue, float64(j.Time.Alone), "alone")
		emit(gpuHeld, prometheus.CounterValue, float64(j.Time.InSets), "set")
		emit(gpuHeld, prometheus.CounterValue, float64(max(0, j.Time.Held-j.Time.Alone-j.Time.InSets)), "shared")
		emit(gpuHeld, prometheus.CounterValue, float64(j.Time.Kept), "kept")
		emit(gpuWait, prometheus.CounterValue, float64(j.Time.Waited))
		if j.Time.SetSpeed > 0 {
			emit(gpuSpeed, prometheus.GaugeValue, j.Time.SetSpeed)
		}
		emit(gpuWork, prometheus.CounterValue, float64(j.Time.Work))
	}
}
