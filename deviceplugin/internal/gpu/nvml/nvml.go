//go:build cgo

package nvml

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// library is the part of NVML in use.
type library interface {
	Init() nvml.Return
	Shutdown() nvml.Return
	DeviceGetCount() (int, nvml.Return)
	DeviceGetHandleByIndex(int) (nvml.Device, nvml.Return)
}

// Source lists the GPUs that the driver knows.
type Source struct{ library library }

// Open loads the driver's library. The second result unloads it.
func Open() (gpu.Source, func(), error) {
	s, err := open(nvml.New())
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

func open(l library) (*Source, error) {
	if code := l.Init(); code != nvml.SUCCESS {
		return nil, fmt.Errorf("starting NVML: %s: %w", advice(code), code)
	}
	return &Source{library: l}, nil
}

// Close unloads the library.
func (s *Source) Close() { _ = s.library.Shutdown() }

// Devices implements gpu.Source.
func (s *Source) Devices(ctx context.Context) ([]gpu.Device, error) {
	count, code := s.library.DeviceGetCount()
	if code != nvml.SUCCESS {
		return nil, fmt.Errorf("counting GPUs: %s: %w", advice(code), code)
	}
	devices := make([]gpu.Device, 0, count)
	for i := range count {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("listing GPUs: %w", err)
		}
		handle, code := s.library.DeviceGetHandleByIndex(i)
		if code != nvml.SUCCESS {
			continue // lost: Merge keeps it by its UUID, unhealthy
		}
		if device, ok := read(handle); ok {
			devices = append(devices, device)
		}
	}
	return devices, nil
}

// read asks one GPU about itself. Without a UUID it is nobody.
func read(handle nvml.Device) (gpu.Device, bool) {
	uuid, code := handle.GetUUID()
	if code != nvml.SUCCESS || uuid == "" {
		return gpu.Device{}, false
	}
	device := gpu.Device{UUID: growth.GPU(uuid), Healthy: true}
	if device.Model, code = handle.GetName(); code != nvml.SUCCESS {
		device.Model = "unknown"
	}
	memory, code := handle.GetMemoryInfo()
	if code != nvml.SUCCESS {
		device.Healthy, device.Reason = false, "its memory can not be read: "+code.Error()
		return device, true
	}
	device.Memory = growth.MiB(memory.Total >> 20)
	return device, true
}

// advice says what to do about the usual failures.
func advice(code nvml.Return) string {
	switch code {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return "libnvidia-ml.so.1 was not found: install the NVIDIA driver, run the container with the nvidia runtime, or choose --gpus=emulated:2x24GiB"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "the NVIDIA driver is installed but not loaded: see `nvidia-smi` and `dmesg` on the node"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission to use the driver: /dev/nvidiactl must be readable and writable in this container"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return "the driver's library and kernel module are of different versions: reboot the node or restart this container"
	case nvml.ERROR_GPU_IS_LOST:
		return "a GPU has fallen off the bus: see `dmesg` on the node"
	}
	return "the driver refused"
}
