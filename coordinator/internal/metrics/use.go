package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

// JobUsage is the resource usage of one job.
type JobUsage struct {
	Pod   growth.PodRef
	Usage cgroup.Usage
	// GPUMemory is the most memory that the job has used on one of its GPUs; 0 if that is unknown.
	GPUMemory growth.MiB
}

// SetUsages sets the usage of all jobs of the node. The series of other jobs end.
func (m *Metrics) SetUsages(jobs []JobUsage) {
	m.usages.mu.Lock()
	defer m.usages.mu.Unlock()
	m.usages.jobs = jobs
}

// usages collects the usages that were set last, so that a job that has ended has no series.
type usages struct {
	mu   sync.Mutex
	jobs []JobUsage
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("trellis_job_"+name, help, append([]string{"namespace", "pod"}, labels...), nil)
}

var (
	cpuSeconds   = describe("cpu_seconds_total", "CPU time that a job has consumed.")
	memoryBytes  = describe("memory_bytes", "Memory in use by a job, without inactive page cache.")
	gpuMemory    = describe("gpu_memory_peak_bytes", "Most memory that a job has used on one of its GPUs: by the driver, or else by its framework with an allowance for the driver's context.")
	ioBytes      = describe("io_bytes_total", "Bytes that a job has transferred, by way: block, network.", "way")
	stallSeconds = describe("stalled_seconds_total", "Time in which some task of a job waited for a resource (PSI).", "resource")
)

// Describe implements prometheus.Collector.
func (u *usages) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cpuSeconds, memoryBytes, gpuMemory, ioBytes, stallSeconds} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (u *usages) Collect(out chan<- prometheus.Metric) {
	u.mu.Lock()
	jobs := u.jobs
	u.mu.Unlock()
	for _, j := range jobs {
		emit := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, kind, value, append([]string{j.Pod.Namespace, j.Pod.Name}, labels...)...)
		}
		emit(cpuSeconds, prometheus.CounterValue, float64(j.Usage.CPU))
		emit(memoryBytes, prometheus.GaugeValue, float64(j.Usage.Memory)*(1<<20))
		if j.GPUMemory > 0 {
			emit(gpuMemory, prometheus.GaugeValue, float64(j.GPUMemory)*(1<<20))
		}
		emit(ioBytes, prometheus.CounterValue, float64(j.Usage.BlockIO), "block")
		emit(ioBytes, prometheus.CounterValue, float64(j.Usage.NetworkIO), "network")
		emit(stallSeconds, prometheus.CounterValue, float64(j.Usage.Stalled.CPU), "cpu")
		emit(stallSeconds, prometheus.CounterValue, float64(j.Usage.Stalled.Memory), "memory")
		emit(stallSeconds, prometheus.CounterValue, float64(j.Usage.Stalled.IO), "io")
	}
}
