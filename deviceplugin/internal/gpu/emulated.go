package gpu

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// Emulated is a source of GPUs without hardware.
type Emulated struct {
	Node   growth.NodeName
	Count  int
	Memory growth.MiB
	// Computes means that each GPU owns a core, on which jobs do its work.
	Computes bool
	// Cores has the core of each GPU that computes.
	Cores []int
	// NUMA has the NUMA node of each GPU; empty if the GPUs have none.
	NUMA []int
}

// Own gives each GPU that computes one of the node's cores, in order.
func (e Emulated) Own(cores []int) (Emulated, error) {
	if !e.Computes {
		return e, nil
	}
	if len(cores) < e.Count {
		return e, fmt.Errorf("%d emulated GPUs that compute need a core each, and this node has %d", e.Count, len(cores))
	}
	e.Cores = cores[:e.Count]
	return e, nil
}

// Devices implements Source. UUIDs are derived from the node's name, so they survive a restart.
func (e Emulated) Devices(context.Context) ([]Device, error) {
	devices := make([]Device, e.Count)
	for i := range devices {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", e.Node, i))
		devices[i] = Device{
			UUID:    growth.GPU(fmt.Sprintf("EMU-%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])),
			Model:   "emulated " + e.Memory.String(),
			Memory:  e.Memory,
			Healthy: true,
			Minor:   i,
			NUMA:    -1,
		}
		if len(e.NUMA) > 0 {
			devices[i].NUMA = e.NUMA[i]
		}
		if len(e.Cores) > 0 {
			devices[i].Core = &e.Cores[i]
		}
	}
	return devices, nil
}
