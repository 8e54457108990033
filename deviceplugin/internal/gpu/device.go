package gpu

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// Device is one GPU, or one MIG instance of a GPU: whatever a job can be given memory on.
type Device struct {
	UUID    growth.GPU
	Model   string
	Memory  growth.MiB
	Healthy bool
	// Reason says why it is not healthy.
	Reason string
	// Absent says that the driver does not list it (any more).
	Absent bool

	// Minor is the number in the GPU's device node, /dev/nvidia<Minor>, -1 where the driver does not say.
	Minor int
	// NUMA is the node of host memory the GPU is nearest to, -1 where the host does not say.
	NUMA int
	// Links are the GPUs that it reaches over NVLink, in order.
	Links []growth.GPU
	// Instance is set for a MIG instance.
	Instance *Instance
}

// Instance says where a MIG instance lies: Parent is the GPU that was cut, the ids are the driver's.
type Instance struct {
	Parent       growth.GPU
	GPU, Compute int
}

// PhysicalGPU is the GPU that a device is, or is a part of.
func (d Device) PhysicalGPU() growth.GPU {
	if d.Instance != nil {
		return d.Instance.Parent
	}
	return d.UUID
}

func equal(a, b []Device) bool { return reflect.DeepEqual(a, b) }

// Source finds GPUs.
type Source interface {
	// Devices lists all GPUs in the driver's order. A GPU that is there but can not be read fully is listed unhealthy.
	Devices(ctx context.Context) ([]Device, error)
}

// Fault is what a driver reports of a GPU while it runs.
type Fault struct {
	// GPU is the GPU; Instance the MIG instance of it that alone is affected, or nil for all of it.
	GPU      growth.GPU
	Instance *Instance
	// XID is NVIDIA's number of the error.
	XID uint64
}

// Affects tells whether a fault affects a device.
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
	// Memory is what it holds there, -1 where the driver does not say.
	Memory growth.MiB
	// Busy is how much of the time it kept the GPU busy lately, in per cent, -1 where the driver does not say.
	Busy int
}

// Driver is what a real driver offers beyond a list.
type Driver interface {
	Source
	// Faults tells of faults as they happen, until ctx ends or they can no longer be heard.
	Faults(ctx context.Context, tell func(Fault)) error
	// Processes lists who computes now.
	Processes(ctx context.Context) ([]Process, error)
	// Version is the driver's own.
	Version() string
	Close()
}

// Validate tells whether devices can be advertised in units of this size.
func Validate(devices []Device, unit growth.MiB) error {
	if len(devices) == 0 {
		return fmt.Errorf("the node has no GPU: remove its gpushare label, or choose --gpus=emulated:2x24GiB to try Trellis without one")
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

// Merge brings what was known up to date with what a source says now. A GPU that the source no longer lists stays,
// unhealthy, since containers may hold units of it; one whose memory can not be read keeps the size it had, and so
// does what else a GPU fails to tell this time. A changed size is believed.
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

// withDefaults takes from an earlier list what a GPU did not tell now.
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
