package kubelettest

import (
	"fmt"
	"math/bits"
	"slices"
)

// TopologyPolicy is the policy of kubelet's Topology Manager; empty is the policy none.
type TopologyPolicy string

// The policies that align a pod.
const (
	BestEffort     TopologyPolicy = "best-effort"
	Restricted     TopologyPolicy = "restricted"
	SingleNUMANode TopologyPolicy = "single-numa-node"
)

// mask is a set of NUMA nodes.
type mask uint

func (m mask) has(node int) bool { return m&(1<<node) != 0 }
func (m mask) count() int        { return bits.OnesCount(uint(m)) }

// hint is a set of NUMA nodes that can serve a request. A preferred one is as small as possible.
type hint struct {
	nodes     mask
	preferred bool
}

// SetTopology gives the kubelet a Topology Manager for NUMA nodes 0 to nodes-1.
func (k *Kubelet) SetTopology(policy TopologyPolicy, nodes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.policy = policy
	k.numaNodes = nodes
}

// align returns the NUMA nodes that the container is aligned with, or 0 for no preference. It merges the hints of the
// device manager with those of the CPU manager like kubelet's topologymanager.
func (k *Kubelet) align(pod *Pod, c *Container) (mask, error) {
	if k.policy == "" || !k.hasTopology() || c.Units == 0 {
		return 0, nil
	}
	all := mask(1)<<k.numaNodes - 1
	devices := k.deviceHints(c.Units)
	cpus := cpuHints(pod.CPUNodes, all)
	if k.policy == SingleNUMANode {
		several := func(h hint) bool { return h.nodes.count() > 1 || !h.preferred }
		devices = slices.DeleteFunc(devices, several)
		if len(pod.CPUNodes) > 0 {
			cpus = slices.DeleteFunc(cpus, several)
		}
	}
	best := hint{nodes: all}
	for _, d := range devices {
		for _, c := range cpus {
			merged := hint{d.nodes & c.nodes, d.preferred && c.preferred}
			// All affinities of a preferred hint are equal. The CPU manager without a preference has none.
			if len(pod.CPUNodes) > 0 && d.nodes != c.nodes {
				merged.preferred = false
			}
			if merged.nodes != 0 && merged.better(best) {
				best = merged
			}
		}
	}
	if k.policy != BestEffort && !best.preferred {
		return 0, fmt.Errorf("TopologyAffinityError: Resources cannot be allocated with Topology locality")
	}
	return best.nodes, nil
}

// better orders preferred hints first, then those of fewer nodes, then those of lower numbers.
func (h hint) better(other hint) bool {
	if h.preferred != other.preferred {
		return h.preferred
	}
	if h.nodes.count() != other.nodes.count() {
		return h.nodes.count() < other.nodes.count()
	}
	return h.nodes < other.nodes
}

// deviceHints returns the sets of NUMA nodes with enough free devices.
func (k *Kubelet) deviceHints(units int) []hint {
	var hints []hint
	least := k.numaNodes
	for nodes := mask(1); nodes < 1<<k.numaNodes; nodes++ {
		total := 0
		for _, node := range k.topology {
			if nodes.has(node) {
				total++
			}
		}
		if total >= units {
			least = min(least, nodes.count())
		}
		if aligned, _ := k.splitByTopology(k.free(), nodes); len(aligned) >= units {
			hints = append(hints, hint{nodes: nodes})
		}
	}
	for i, h := range hints {
		hints[i].preferred = h.nodes.count() == least
	}
	return hints
}

// cpuHints returns the sets of NUMA nodes with enough free CPUs, where each node in free has enough. Without free, the
// CPU manager has no preference.
func cpuHints(free []int, all mask) []hint {
	if len(free) == 0 {
		return []hint{{all, true}}
	}
	var hints []hint
	for nodes := mask(1); nodes <= all; nodes++ {
		if slices.ContainsFunc(free, nodes.has) {
			hints = append(hints, hint{nodes, nodes.count() == 1})
		}
	}
	return hints
}

func (k *Kubelet) hasTopology() bool { return len(k.topology) > 0 }

// splitByTopology returns the ids on the NUMA nodes, and the others.
func (k *Kubelet) splitByTopology(ids []string, nodes mask) (aligned, others []string) {
	for _, id := range ids {
		if node, ok := k.topology[id]; ok && nodes.has(node) {
			aligned = append(aligned, id)
		} else {
			others = append(others, id)
		}
	}
	return aligned, others
}
