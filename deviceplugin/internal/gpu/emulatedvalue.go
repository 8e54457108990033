package gpu

import (
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
	// nodeSeparator precedes the emulated GPUs of one node.
	nodeSeparator = "/"
	// computeOption marks emulated GPUs that compute.
	computeOption = ",compute"
	// numaSeparator precedes the NUMA nodes of emulated GPUs.
	numaSeparator = "@numa="
	// MaxNUMA bounds the number of a NUMA node. Linux supports 1,024 nodes.
	MaxNUMA = 1023
)

// ParseEmulated parses the emulated GPUs of a node. It returns false for values without the prefix.
//
//	emulated:2x24GiB                          two GPUs of 24 GiB
//	emulated:2x24GiB,compute                  each owns a core, on which jobs do its work
//	emulated:2x24GiB@numa=0,1                 with the NUMA node of each GPU
//	emulated:2x24GiB/node-2=1x24GiB,compute   node-2 has other GPUs than the rest
func ParseEmulated(value string, node growth.NodeName) (Emulated, bool, error) {
	rest, ok := strings.CutPrefix(value, emulatedPrefix)
	if !ok {
		return Emulated{}, false, nil
	}
	first, others, several := strings.Cut(rest, nodeSeparator)
	chosen, err := parseGPUs(first)
	if err != nil {
		return Emulated{}, true, fmt.Errorf("%q: %w", value, err)
	}
	for several {
		var own string
		own, others, several = strings.Cut(others, nodeSeparator)
		name, gpus, ok := strings.Cut(own, "=")
		if !ok || name == "" {
			return Emulated{}, true, fmt.Errorf("%q: write the GPUs of a node as <node>=<count>x<memory>, not %q", value, own)
		}
		emulated, err := parseGPUs(gpus)
		if err != nil {
			return Emulated{}, true, fmt.Errorf("%q: node %s: %w", value, name, err)
		}
		if growth.NodeName(name) == node {
			chosen = emulated
		}
	}
	chosen.Node = node
	return chosen, true, nil
}

// parseGPUs parses <count>x<memory>[,compute][@numa=<node>,...].
func parseGPUs(text string) (Emulated, error) {
	rest, numa, hasNUMA := strings.Cut(text, numaSeparator)
	rest, computes := strings.CutSuffix(rest, computeOption)
	count, memory, ok := strings.Cut(rest, "x")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > maxEmulated {
		return Emulated{}, fmt.Errorf("%q: write <count>x<memory>, such as 2x24GiB, with 1 to %d GPUs", text, maxEmulated)
	}
	mib, err := gpushare.ParseMemory(strings.TrimSuffix(memory, "B"))
	if err != nil {
		return Emulated{}, fmt.Errorf("%q %w", memory, err)
	}
	emulated := Emulated{Count: n, Memory: mib, Computes: computes}
	if hasNUMA {
		if emulated.NUMA, err = parseNUMA(numa, n); err != nil {
			return Emulated{}, err
		}
	}
	return emulated, nil
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
