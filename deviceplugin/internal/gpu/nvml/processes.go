//go:build cgo

package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// notAvailable is NVML's 64-bit value for unavailable data.
const notAvailable = ^uint64(0)

// Processes implements gpu.Driver. It leaves out GPUs that do not answer: their processes are unknown, not gone.
func (s *Source) Processes(ctx context.Context) ([]gpu.Process, error) {
	handles, err := s.handles(ctx)
	if err != nil {
		return nil, err
	}
	var all []gpu.Process
	for _, h := range handles {
		infos, code := h.nvml.GetComputeRunningProcesses()
		if code != nvml.SUCCESS {
			continue
		}
		busy := s.utilization(h)
		for _, info := range infos {
			p := gpu.Process{
				PID:    int(info.Pid),
				Device: h.UUID,
				Memory: usedMemory(info.UsedGpuMemory, h.Memory),
				Busy:   -1,
			}
			if percent, ok := busy[info.Pid]; ok {
				p.Busy = percent
			} else if busy != nil {
				p.Busy = 0
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// usedMemory returns the memory of a process, or -1 if the driver does not know it. More than the device has is not believed.
func usedMemory(bytes uint64, device growth.MiB) growth.MiB {
	used := growth.MiB(bytes >> 20)
	if bytes == notAvailable || device > 0 && used > device {
		return -1
	}
	return used
}

// utilization returns each process's mean utilization since the last call, in percent. It returns nil if the GPU does
// not report it, as for MIG instances.
func (s *Source) utilization(h handle) map[uint32]int {
	if h.Instance != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	samples, code := h.nvml.GetProcessUtilization(s.lastSample[h.UUID])
	if code == nvml.ERROR_NOT_FOUND { // no samples since the last call
		return map[uint32]int{}
	}
	if code != nvml.SUCCESS {
		return nil
	}
	percent := map[uint32]int{}
	count := map[uint32]int{}
	for _, sample := range samples {
		s.lastSample[h.UUID] = max(s.lastSample[h.UUID], sample.TimeStamp)
		if sample.SmUtil <= 100 {
			percent[sample.Pid] += int(sample.SmUtil)
			count[sample.Pid]++
		}
	}
	for pid, n := range count {
		percent[pid] /= n
	}
	return percent
}
