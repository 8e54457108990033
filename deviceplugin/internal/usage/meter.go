package usage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/apiserver"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// apiTimeout bounds one event or eviction.
const apiTimeout = 5 * time.Second

// Processes lists the processes that compute on GPUs.
type Processes interface {
	Processes(ctx context.Context) ([]gpu.Process, error)
}

// API creates events and evictions.
type API interface {
	Warning(ctx context.Context, about apiserver.ObjectRef, reason, message string) error
	Create(ctx context.Context, path string, object any) error
}

// Meter measures the GPU usage of pods at an interval.
type Meter struct {
	Driver Processes
	Proc   Proc
	// Allocations returns the allocation records by pod.
	Allocations func() map[growth.PodUID]bus.Allocation
	Detector    *ExcessDetector
	API         API
	Log         *slog.Logger

	mu       sync.Mutex
	readings []reading
	busy     bool // a call to the driver is in progress
}

// reading is the Use of a pod on a GPU, with the pod's name and request.
type reading struct {
	Use
	pod       growth.PodRef
	requested growth.MiB
}

// Run measures until ctx ends. A driver that blocks delays only the next measurement.
func (m *Meter) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	results := make(chan []gpu.Process)
	for {
		select {
		case <-tick.C:
			if !m.begin() {
				m.Log.Warn("GPU usage is unknown: the driver has not answered yet")
				continue
			}
			go m.query(ctx, results)
		case processes := <-results:
			m.record(ctx, time.Now(), processes)
		case <-ctx.Done():
			return nil
		}
	}
}

// Uses returns what pods used of GPUs at the last measurement.
func (m *Meter) Uses() []Use {
	m.mu.Lock()
	defer m.mu.Unlock()
	uses := make([]Use, len(m.readings))
	for i, r := range m.readings {
		uses[i] = r.Use
	}
	return uses
}

func (m *Meter) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	started := !m.busy
	m.busy = true
	return started
}

func (m *Meter) query(ctx context.Context, results chan<- []gpu.Process) {
	processes, err := m.Driver.Processes(ctx)
	m.mu.Lock()
	m.busy = false
	m.mu.Unlock()
	if err != nil {
		m.Log.Warn("GPU usage is unknown", "err", err)
		return
	}
	select {
	case results <- processes:
	case <-ctx.Done():
	}
}

// record stores a measurement and handles pods that exceed their request.
func (m *Meter) record(ctx context.Context, now time.Time, processes []gpu.Process) {
	pods := map[growth.PodUID]growth.PodRef{}
	requested := map[Key]growth.MiB{}
	for uid, a := range m.Allocations() {
		pods[uid] = a.Pod
		for _, share := range a.GPUs() {
			requested[Key{uid, share.GPU}] += share.Memory
		}
	}
	uses := Sum(processes, m.Proc.Pod)
	readings := make([]reading, len(uses))
	for i, u := range uses {
		readings[i] = reading{Use: u, pod: pods[u.Pod], requested: requested[u.Key]}
	}
	m.mu.Lock()
	m.readings = readings
	m.mu.Unlock()
	for _, x := range m.Detector.Detect(now, uses, requested) {
		if pod, known := pods[x.Pod]; known { // pods without an allocation have no request
			m.handle(ctx, now, pod, x)
		}
	}
}

func (m *Meter) handle(ctx context.Context, now time.Time, pod growth.PodRef, x Excess) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	log := m.Log.With("pod", pod.String(), "uid", pod.UID, "gpu", x.GPU, "used", x.Memory.String(), "requested",
		x.Requested.String())
	if x.Warn {
		log.Warn("a job uses more GPU memory than it requested")
		if err := m.warn(ctx, pod, x); err != nil {
			log.Warn("the event could not be recorded", "err", err)
		} else {
			m.Detector.Warned(now, x.Key)
		}
	}
	if x.Evict {
		if err := m.evict(ctx, pod); err != nil {
			log.Warn("a job that uses more GPU memory than it requested could not be evicted", "err", err)
			return
		}
		m.Detector.Evicted(now, x.Key)
		log.Warn("evicted a job that uses more GPU memory than it requested")
	}
}

// warn records an event on a pod.
func (m *Meter) warn(ctx context.Context, pod growth.PodRef, x Excess) error {
	about := apiserver.ObjectRef{
		Kind:      "Pod",
		Namespace: pod.Namespace,
		Name:      pod.Name,
		UID:       string(pod.UID),
	}
	message := fmt.Sprintf(
		"The job uses %s on GPU %s but requested %s: other jobs there may run out of memory. Request more, or "+
			"reduce its usage.", x.Memory, x.GPU, x.Requested)
	return m.API.Warning(ctx, about, "GPUMemoryExceeded", message)
}

// evict evicts a pod, unless another one has its name by now.
func (m *Meter) evict(ctx context.Context, pod growth.PodRef) error {
	return m.API.Create(ctx, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", pod.Namespace, pod.Name),
		map[string]any{
			"apiVersion": "policy/v1", "kind": "Eviction",
			"metadata":      map[string]any{"name": pod.Name, "namespace": pod.Namespace},
			"deleteOptions": map[string]any{"preconditions": map[string]any{"uid": pod.UID}},
		})
}

var (
	podLabels = []string{"namespace", "pod", "gpu"}
	usedDesc  = prometheus.NewDesc("trellis_deviceplugin_pod_gpu_memory_bytes",
		"GPU memory that a pod's processes use.", podLabels, nil)
	requestedDesc = prometheus.NewDesc("trellis_deviceplugin_pod_gpu_memory_requested_bytes",
		"GPU memory that a pod requested.", podLabels, nil)
	busyDesc = prometheus.NewDesc("trellis_deviceplugin_pod_gpu_busy_ratio",
		"Fraction of the time in which a pod's processes kept a GPU busy, 0 to 1.", podLabels, nil)
	processesDesc = prometheus.NewDesc("trellis_deviceplugin_pod_gpu_processes",
		"Processes of a pod that compute on a GPU.", podLabels, nil)
)

// Describe implements prometheus.Collector.
func (*Meter) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{usedDesc, requestedDesc, busyDesc, processesDesc} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Meter) Collect(metrics chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.readings {
		if r.pod.Name == "" {
			continue
		}
		gauge := func(d *prometheus.Desc, value float64) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, r.pod.Namespace, r.pod.Name,
				string(r.GPU))
		}
		gauge(requestedDesc, float64(r.requested)*(1<<20))
		gauge(processesDesc, float64(r.Processes))
		if r.Memory >= 0 {
			gauge(usedDesc, float64(r.Memory)*(1<<20))
		}
		if r.Busy >= 0 {
			gauge(busyDesc, float64(r.Busy)/100)
		}
	}
}
