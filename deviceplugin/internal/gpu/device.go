package gpu

import (
	"context"
	"fmt"
	"slices"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// Device is one GPU.
type Device struct {
	UUID    growth.GPU
	Model   string
	Memory  growth.MiB
	Healthy bool
	// Reason says why it is not healthy.
	Reason string
}

// Source finds GPUs.
type Source interface {
	// Devices lists all GPUs in the driver's order. A GPU that is there but can not be read fully is listed unhealthy.
	Devices(ctx context.Context) ([]Device, error)
}

// Check tells whether devices can be advertised in units of this size.
func Check(devices []Device, unit growth.MiB) error {
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
// unhealthy, since containers may hold units of it; one whose memory can not be read keeps the size it had. A changed
// size is believed.
func Merge(known, now []Device) []Device {
	merged := make([]Device, 0, len(known))
	for _, old := range known {
		i := slices.IndexFunc(now, func(d Device) bool { return d.UUID == old.UUID })
		switch {
		case i < 0:
			old.Healthy, old.Reason = false, "the driver no longer lists it"
			merged = append(merged, old)
		case now[i].Memory <= 0:
			old.Healthy, old.Reason = false, now[i].Reason
			merged = append(merged, old)
		default:
			merged = append(merged, now[i])
		}
	}
	for _, d := range now {
		if d.Memory > 0 && !slices.ContainsFunc(known, func(old Device) bool { return old.UUID == d.UUID }) {
			merged = append(merged, d)
		}
	}
	return merged
}
