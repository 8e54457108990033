package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/growth"
)

// Use is what one job uses.
type Use struct {
	Pod   growth.PodRef
	Usage cgroup.Usage
}

// Used sets what the node's jobs use; those that are not named are gone.
func (m *Metrics) Used(jobs []Use) {
	m.uses.mu.Lock()
	defer m.uses.mu.Unlock()
	m.uses.jobs = jobs
}

// uses tells a scrape what was last set: a job that has left leaves no series behind.
type uses struct {
	mu   sync.Mutex
	jobs []Use
}

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("trellis_job_"+name, help, append([]string{"namespace", "pod"}, labels...), nil)
}

var (
	cpuSeconds   = described("cpu_seconds_total", "CPU time that a job has consumed.")
	memoryBytes  = described("memory_bytes", "Memory of a job that is resident, without page cache that could go.")
	ioBytes      = described("io_bytes_total", "Bytes that a job has moved, by way: block, network.", "way")
	stallSeconds = described("stalled_seconds_total", "Time in which some process of a job waited for a resource (PSI).", "resource")
)

// Describe implements prometheus.Collector.
func (u *uses) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cpuSeconds, memoryBytes, ioBytes, stallSeconds} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (u *uses) Collect(out chan<- prometheus.Metric) {
	u.mu.Lock()
	jobs := u.jobs
	u.mu.Unlock()
	for _, j := range jobs {
		tell := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, kind, value, append([]string{j.Pod.Namespace, j.Pod.Name}, labels...)...)
		}
		tell(cpuSeconds, prometheus.CounterValue, float64(j.Usage.CPU))
		tell(memoryBytes, prometheus.GaugeValue, float64(j.Usage.Memory)*(1<<20))
		tell(ioBytes, prometheus.CounterValue, float64(j.Usage.BlockIO), "block")
		tell(ioBytes, prometheus.CounterValue, float64(j.Usage.NetworkIO), "network")
		tell(stallSeconds, prometheus.CounterValue, float64(j.Usage.Stalled.CPU), "cpu")
		tell(stallSeconds, prometheus.CounterValue, float64(j.Usage.Stalled.Memory), "memory")
		tell(stallSeconds, prometheus.CounterValue, float64(j.Usage.Stalled.IO), "io")
	}
}
