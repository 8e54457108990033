package gpu

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
)

// Device is a GPU or a MIG instance: one device on which jobs can be given memory.
type Device struct {
	UUID    growth.GPU
	Model   string
	Memory  growth.MiB
	Healthy bool
	// Reason explains why the device is unhealthy.
	Reason string
	// Absent reports that the driver no longer lists the device.
	Absent bool

	// Minor is the number in the device node /dev/nvidia<Minor>, or -1 if unknown.
	Minor int
	// NUMA is the GPU's NUMA node, or -1 if unknown.
	NUMA int
	// Core is the core that an emulated GPU owns, nil if it has none.
	Core *int
	// Links are the GPUs reachable over NVLink, sorted.
	Links []growth.GPU
	// Instance is set for a MIG instance.
	Instance *Instance
}

// Instance identifies a MIG instance: its physical GPU, and the driver's ids of the GPU instance and compute
// instance.
type Instance struct {
	Parent       growth.GPU
	GPU, Compute int
}

// PhysicalGPU returns the GPU that the device is or belongs to.
func (d Device) PhysicalGPU() growth.GPU {
	if d.Instance != nil {
		return d.Instance.Parent
	}
	return d.UUID
}

func equal(a, b []Device) bool { return reflect.DeepEqual(a, b) }

// Source lists GPUs.
type Source interface {
	// Devices lists all GPUs in the driver's order. A GPU that cannot be read completely is listed as unhealthy.
	Devices(ctx context.Context) ([]Device, error)
}

// Fault is an error that the driver reports for a GPU.
type Fault struct {
	// GPU is the physical GPU. Instance is the only affected MIG instance, or nil if the whole GPU is affected.
	GPU      growth.GPU
	Instance *Instance
	// XID is NVIDIA's error number.
	XID uint64
}

// Affects reports whether the fault affects the device.
func (f Fault) Affects(d Device) bool {
	if f.Instance != nil {
		return d.Instance != nil && *d.Instance == *f.Instance
	}
	return d.PhysicalGPU() == f.GPU
}

// Process is a process that computes on a GPU.
type Process struct {
	PID int
	// Device is the GPU or the MIG instance.
	Device growth.GPU
	// Memory is the process's GPU memory, or -1 if unknown.
	Memory growth.MiB
	// Busy is the process's recent utilization of the GPU in percent, or -1 if unknown.
	Busy int
}

// Utilization has the samples of a GPU's processes. A GPU whose processes the driver does not measure is not listed.
type Utilization struct {
	Device  growth.GPU
	Samples []gpuuse.Sample
}

// Driver is a Source with the other functions of a real driver.
type Driver interface {
	Source
	// Faults reports faults until ctx ends or the driver stops reporting them.
	Faults(ctx context.Context, report func(Fault)) error
	// Processes lists the processes that compute on GPUs.
	Processes(ctx context.Context) ([]Process, error)
	// Utilization returns the samples of all processes after a time on each GPU.
	Utilization(ctx context.Context, since map[growth.GPU]uint64) ([]Utilization, error)
	// Version returns the driver's version.
	Version() string
	Close()
}

// Validate returns an error if the devices cannot be advertised in units of this size.
func Validate(devices []Device, unit growth.MiB) error {
	if len(devices) == 0 {
		return fmt.Errorf(
			"the node has no GPU: remove its gpushare label, or choose --gpus=emulated:2x24GiB to try Trellis " +
				"without one")
	}
	seen := map[growth.GPU]struct{}{}
	for _, d := range devices {
		if _, twice := seen[d.UUID]; twice {
			return fmt.Errorf("GPU %s is listed twice", d.UUID)
		}
		seen[d.UUID] = struct{}{}
		if err := slice.CheckSize(d.UUID, d.Memory, unit); err != nil {
			return err
		}
	}
	return nil
}

// Merge updates the known devices with the current list. A GPU that is no longer listed stays as unhealthy, because
// containers may hold its units. A GPU whose memory cannot be read keeps its size, and missing values keep theirs. A
// new size replaces the old one.
func Merge(known, now []Device) []Device {
	merged := make([]Device, 0, len(known))
	for _, old := range known {
		i := slices.IndexFunc(now, func(d Device) bool { return d.UUID == old.UUID })
		switch {
		case i < 0:
			old.Healthy = false
			old.Reason = "the driver no longer lists it"
			old.Absent = true
			merged = append(merged, old)
		case now[i].Memory <= 0:
			old.Healthy = false
			old.Reason = now[i].Reason
			old.Absent = false
			merged = append(merged, old)
		default:
			merged = append(merged, now[i].withDefaults(old))
		}
	}
	for _, d := range now {
		if d.Memory > 0 && !slices.ContainsFunc(known, func(old Device) bool { return old.UUID == d.UUID }) {
			merged = append(merged, d)
		}
	}
	return merged
}

// withDefaults fills in missing values from an earlier list.
func (d Device) withDefaults(old Device) Device {
	if d.Model == "" {
		d.Model = old.Model
	}
	if d.Minor < 0 {
		d.Minor = old.Minor
	}
	if d.NUMA < 0 {
		d.NUMA = old.NUMA
	}
	return d
}
