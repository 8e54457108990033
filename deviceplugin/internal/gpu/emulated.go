package gpu

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// NVML is the value of --gpus that selects the driver.
	NVML = "nvml"
	// emulatedPrefix is the prefix of --gpus values that select emulated GPUs.
	emulatedPrefix = "emulated:"
	// maxEmulated bounds the number of emulated GPUs.
	maxEmulated = 64
	// numaSeparator precedes the NUMA nodes of emulated GPUs.
	numaSeparator = "@numa="
	// MaxNUMA bounds the number of a NUMA node. Linux supports 1,024 nodes.
	MaxNUMA = 1023
)

// Emulated is a source of GPUs without hardware.
type Emulated struct {
	Node   growth.NodeName
	Count  int
	Memory growth.MiB
	// NUMA has the NUMA node of each GPU; empty if the GPUs have none.
	NUMA []int
}

// ParseEmulated parses "emulated:2x24GiB", or "emulated:2x24GiB@numa=0,1" with the NUMA node of each GPU. It returns
// false for values without the prefix.
func ParseEmulated(value string, node growth.NodeName) (Emulated, bool, error) {
	rest, ok := strings.CutPrefix(value, emulatedPrefix)
	if !ok {
		return Emulated{}, false, nil
	}
	rest, numa, hasNUMA := strings.Cut(rest, numaSeparator)
	count, memory, ok := strings.Cut(rest, "x")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > maxEmulated {
		return Emulated{}, true, fmt.Errorf(
			"%q: write emulated:<count>x<memory>, such as emulated:2x24GiB, with 1 to %d GPUs", value, maxEmulated)
	}
	mib, err := gpushare.ParseMemory(strings.TrimSuffix(memory, "B"))
	if err != nil {
		return Emulated{}, true, fmt.Errorf("%q: %q %w", value, memory, err)
	}
	emulated := Emulated{Node: node, Count: n, Memory: mib}
	if hasNUMA {
		if emulated.NUMA, err = parseNUMA(numa, n); err != nil {
			return Emulated{}, true, fmt.Errorf("%q: %w", value, err)
		}
	}
	return emulated, true, nil
}

// parseNUMA parses a comma-separated list with one NUMA node for each GPU.
func parseNUMA(list string, gpus int) ([]int, error) {
	fields := strings.Split(list, ",")
	if len(fields) != gpus {
		return nil, fmt.Errorf("%s%s has %d entries for %d GPUs: list one NUMA node for each GPU, such as %s0,0,1,1",
			numaSeparator, list, len(fields), gpus, numaSeparator)
	}
	nodes := make([]int, len(fields))
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > MaxNUMA {
			return nil, fmt.Errorf("%s%s: %q is not the number of a NUMA node, 0 to %d", numaSeparator, list, field, MaxNUMA)
		}
		nodes[i] = n
	}
	return nodes, nil
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
	}
	return devices, nil
}
