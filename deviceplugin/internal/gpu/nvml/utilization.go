//go:build cgo

package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
)

// maxSamples bounds the samples of one GPU. The driver keeps some hundred.
const maxSamples = 100_000

// Utilization implements gpu.Driver. It leaves out GPUs that do not answer, and those with MIG, whose instances have no
// samples.
func (s *Source) Utilization(ctx context.Context, since map[growth.GPU]uint64) ([]gpu.Utilization, error) {
	gpus, err := s.physicalGPUs(ctx)
	if err != nil {
		return nil, err
	}
	var all []gpu.Utilization
	for _, g := range gpus {
		if current, _, code := g.nvml.GetMigMode(); code == nvml.SUCCESS && current == nvml.DEVICE_MIG_ENABLE {
			continue
		}
		samples, code := g.nvml.GetProcessUtilization(since[g.UUID])
		if code == nvml.ERROR_NOT_FOUND { // no samples in this time
			samples, code = nil, nvml.SUCCESS
		}
		if code != nvml.SUCCESS || len(samples) > maxSamples {
			continue
		}
		u := gpu.Utilization{Device: g.UUID}
		for _, sample := range samples {
			if sample.SmUtil <= 100 {
				u.Samples = append(u.Samples, gpuuse.Sample{
					PID:     int(sample.Pid),
					At:      sample.TimeStamp,
					Percent: int(sample.SmUtil),
				})
			}
		}
		all = append(all, u)
	}
	return all, nil
}
