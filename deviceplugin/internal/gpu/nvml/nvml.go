//go:build cgo

package nvml

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// library is the part of NVML that this package uses.
type library interface {
	Init() nvml.Return
	Shutdown() nvml.Return
	SystemGetDriverVersion() (string, nvml.Return)
	DeviceGetCount() (int, nvml.Return)
	DeviceGetHandleByIndex(int) (nvml.Device, nvml.Return)
	EventSetCreate() (nvml.EventSet, nvml.Return)
}

// Source lists the GPUs that the driver knows. It implements gpu.Driver.
type Source struct {
	library library
	sys     fs.FS // the host's /sys
	version string

	mu         sync.Mutex
	lastSample map[growth.GPU]uint64 // time of the last utilization sample by GPU, in the driver's microseconds
}

// Open loads the driver's library.
func Open() (gpu.Driver, error) { return open(nvml.New(), os.DirFS("/sys")) }

func open(l library, sys fs.FS) (*Source, error) {
	if code := l.Init(); code != nvml.SUCCESS {
		return nil, fmt.Errorf("starting NVML: %s: %w", advice(code), code)
	}
	version, code := l.SystemGetDriverVersion()
	if code != nvml.SUCCESS {
		_ = l.Shutdown()
		return nil, fmt.Errorf("reading the driver's version: %s: %w", advice(code), code)
	}
	if err := checkVersion(version); err != nil {
		_ = l.Shutdown()
		return nil, err
	}
	return &Source{
		library:    l,
		sys:        sys,
		version:    version,
		lastSample: map[growth.GPU]uint64{},
	}, nil
}

// minDriver is the first driver branch with CUDA 11, MIG and all calls used here.
const minDriver = 450

func checkVersion(version string) error {
	branch := 0
	if _, err := fmt.Sscanf(version, "%d.", &branch); err != nil {
		return fmt.Errorf("the driver reports the version %.40q, which is not a version number: reinstall the driver", version)
	}
	if branch < minDriver {
		return fmt.Errorf("the NVIDIA driver %s is too old: install %d or newer on the node", version, minDriver)
	}
	return nil
}

// Version implements gpu.Driver.
func (s *Source) Version() string { return s.version }

// Close unloads the library.
func (s *Source) Close() { _ = s.library.Shutdown() }

// handle is a device with its NVML handle.
type handle struct {
	gpu.Device
	nvml nvml.Device
}

// Devices implements gpu.Source.
func (s *Source) Devices(ctx context.Context) ([]gpu.Device, error) {
	handles, err := s.handles(ctx)
	devices := make([]gpu.Device, len(handles))
	for i, h := range handles {
		devices[i] = h.Device
	}
	return devices, err
}

// handles lists all devices. It initializes NVML again after the driver was reloaded.
func (s *Source) handles(ctx context.Context) ([]handle, error) {
	gpus, err := s.physicalGPUs(ctx)
	if errors.Is(err, nvml.ERROR_UNINITIALIZED) || errors.Is(err, nvml.ERROR_DRIVER_NOT_LOADED) {
		_ = s.library.Shutdown()
		if code := s.library.Init(); code != nvml.SUCCESS {
			return nil, fmt.Errorf("starting NVML again: %s: %w", advice(code), code)
		}
		gpus, err = s.physicalGPUs(ctx)
	}
	if err != nil {
		return nil, err
	}
	setLinks(gpus)
	var all []handle
	for _, b := range gpus {
		all = append(all, expandMIG(b)...)
	}
	return all, nil
}

// physicalGPUs lists GPUs without their MIG instances.
func (s *Source) physicalGPUs(ctx context.Context) ([]handle, error) {
	count, code := s.library.DeviceGetCount()
	if code != nvml.SUCCESS {
		return nil, fmt.Errorf("counting GPUs: %s: %w", advice(code), code)
	}
	if count < 0 || count > maxGPUs {
		return nil, fmt.Errorf("the driver reports %d GPUs", count)
	}
	gpus := make([]handle, 0, count)
	for i := range count {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("listing GPUs: %w", err)
		}
		device, code := s.library.DeviceGetHandleByIndex(i)
		if code != nvml.SUCCESS {
			continue // a lost GPU: gpu.Merge keeps it as unhealthy
		}
		if d, ok := queryDevice(device); ok {
			d.NUMA = s.numaNode(device)
			gpus = append(gpus, handle{d, device})
		}
	}
	return gpus, nil
}

// maxGPUs is an upper bound for plausible counts.
const maxGPUs = 256

// queryDevice reads one GPU. It returns false if the GPU has no valid UUID.
func queryDevice(h nvml.Device) (gpu.Device, bool) {
	uuid, code := h.GetUUID()
	if code != nvml.SUCCESS || !validUUID(uuid) {
		return gpu.Device{}, false
	}
	device := gpu.Device{
		UUID:    growth.GPU(uuid),
		Healthy: true,
		Minor:   -1,
		NUMA:    -1,
	}
	if model, code := h.GetName(); code == nvml.SUCCESS {
		device.Model = model
	}
	memory, code := h.GetMemoryInfo()
	if code != nvml.SUCCESS || memory.Total == 0 {
		device.Healthy = false
		device.Reason = "its memory cannot be read: " + code.Error()
		return device, true
	}
	device.Memory = growth.MiB(memory.Total >> 20)
	if minor, code := h.GetMinorNumber(); code == nvml.SUCCESS {
		device.Minor = minor
	}
	return device, true
}

// validUUID reports whether a UUID has only valid characters. UUIDs become part of device ids, labels and file names.
func validUUID(uuid string) bool {
	for _, r := range uuid {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '/' {
			return false
		}
	}
	return uuid != ""
}

// advice returns what to do about common failures.
func advice(code nvml.Return) string {
	switch code {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return "libnvidia-ml.so.1 was not found: install the NVIDIA driver, run the container with the nvidia " +
			"runtime, or choose --gpus=emulated:2x24GiB"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "the NVIDIA driver is installed but not loaded: see `nvidia-smi` and `dmesg` on the node"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission to use the driver: /dev/nvidiactl must be readable and writable in this container"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return "the driver's library and kernel module are of different versions: reboot the node or restart this " +
			"container"
	case nvml.ERROR_GPU_IS_LOST:
		return "a GPU has fallen off the PCI bus: see `dmesg` on the node"
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return fmt.Sprintf("the NVIDIA driver is too old: install %d or newer on the node", minDriver)
	}
	return "the driver reported an error"
}
