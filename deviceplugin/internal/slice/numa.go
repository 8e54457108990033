package slice

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// onOneNode returns the first count candidates of one NUMA node, in the candidates' order. The node is the one whose
// last GPU comes first. It returns nil if no node has count candidates, or if the GPUs with chosen units lie elsewhere.
func (c *choice) onOneNode(candidates []growth.GPU, count int) []growth.GPU {
	if count < 2 {
		return nil
	}
	byNode := map[int][]growth.GPU{}
	for _, gpu := range candidates {
		node, known := c.numa[gpu]
		if !known {
			continue
		}
		byNode[node] = append(byNode[node], gpu)
		if len(byNode[node]) == count && c.containsTaken(byNode[node]) {
			return byNode[node]
		}
	}
	return nil
}

// containsTaken reports whether the GPUs include all GPUs with chosen units.
func (c *choice) containsTaken(gpus []growth.GPU) bool {
	for gpu := range c.taken {
		if !slices.Contains(gpus, gpu) {
			return false
		}
	}
	return true
}
