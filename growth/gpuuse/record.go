package gpuuse

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	// FileName is the file below the state directory.
	FileName = "gpu-use.json"
	// maxGPUs and maxPods bound a record.
	maxGPUs, maxPods = 256, 4096
	// maxMemory bounds the memory of a pod on a device.
	maxMemory growth.MiB = 16 << 20 // 16 TiB
	// oldest is the age after which a record no longer counts.
	oldest growth.Seconds = 15
)

// Record is what the device plugin has measured since it started. Counters of a pod only grow while it runs.
type Record struct {
	bus.Header
	// Uptime is the time since the node was booted.
	Uptime growth.Seconds `json:"uptimeSeconds"`
	// GPUs are those that the driver measures.
	GPUs []GPU `json:"gpus"`
	// Memory is that of the processes of pods, as last listed. It may name devices that are not in GPUs.
	Memory []Memory `json:"memory,omitempty"`
}

// GPU has the pods that have used a GPU.
type GPU struct {
	UUID growth.GPU `json:"uuid"`
	Uses []Use      `json:"uses,omitempty"`
}

// Use is the use of one GPU by one pod.
type Use struct {
	Pod growth.PodUID `json:"pod"`
	// Busy is the time in which kernels of the pod were running.
	Busy growth.Seconds `json:"busySeconds"`
	// Processes is the number of processes of the pod that have a context on the GPU now.
	Processes int `json:"processes,omitempty"`
}

// Memory is the memory of one pod on one device: all that its processes have there, their contexts included.
type Memory struct {
	GPU  growth.GPU    `json:"gpu"`
	Pod  growth.PodUID `json:"pod"`
	Used growth.MiB    `json:"usedMiB"`
}

// Encode encodes a record.
func Encode(r Record) ([]byte, error) { return bus.Encode(r) }

// Decode decodes a record and validates it. uptime is the present time since boot: an older record, or one of an earlier
// boot, is an error.
func Decode(content []byte, uptime growth.Seconds) (Record, error) {
	r, err := bus.Decode[Record](content)
	if err != nil {
		return Record{}, err
	}
	if age := uptime - r.Uptime; !(age > -1 && age < oldest) {
		return Record{}, fmt.Errorf("the measured use of GPUs is %.0f s old: check that the device plugin runs", float64(age))
	}
	return r, r.validate()
}

func (r Record) validate() error {
	if len(r.Memory) > maxPods {
		return fmt.Errorf("the measured memory on GPUs has %d entries, at most %d are possible", len(r.Memory), maxPods)
	}
	for _, m := range r.Memory {
		if !bus.ValidName(m.GPU) || !bus.ValidName(m.Pod) || m.Used < 0 || m.Used > maxMemory {
			return fmt.Errorf("the measured memory on GPU %.40q by pod %.40q is invalid", m.GPU, m.Pod)
		}
	}
	if len(r.GPUs) > maxGPUs {
		return fmt.Errorf("the measured use of GPUs lists %d GPUs, at most %d are possible", len(r.GPUs), maxGPUs)
	}
	for _, g := range r.GPUs {
		if !bus.ValidName(g.UUID) || len(g.Uses) > maxPods {
			return fmt.Errorf("the measured use of GPU %.40q is invalid", g.UUID)
		}
		for _, u := range g.Uses {
			busy := float64(u.Busy)
			if !bus.ValidName(u.Pod) || !(busy >= 0) || math.IsInf(busy, 0) || u.Processes < 0 {
				return fmt.Errorf("the measured use of GPU %s by pod %.40q is invalid", g.UUID, u.Pod)
			}
		}
	}
	return nil
}
