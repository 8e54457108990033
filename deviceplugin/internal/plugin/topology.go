package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// topologyOf returns the NUMA node of a GPU's units, or nil if it is unknown.
func topologyOf(d gpu.Device) *pluginapi.TopologyInfo {
	if d.NUMA < 0 {
		return nil
	}
	return &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: int64(d.NUMA)}}}
}

// numaNodes returns the NUMA node of each GPU for which it is known.
func numaNodes(devices []gpu.Device) map[growth.GPU]int {
	nodes := map[growth.GPU]int{}
	for _, d := range devices {
		if d.NUMA >= 0 {
			nodes[d.UUID] = d.NUMA
		}
	}
	return nodes
}

// mayAlign reports whether kubelet may offer the units of one NUMA node only: the GPUs lie on several nodes, and
// kubelet knows them.
func (s *Server) mayAlign(devices []gpu.Device) bool {
	return s.NUMA && len(distinctNodes(devices)) > 1
}

func distinctNodes(devices []gpu.Device) []int {
	return slices.Compact(slices.Sorted(maps.Values(numaNodes(devices))))
}

// checkAligned rejects ids on fewer GPUs than every container of that size requests. Kubelet's Topology Manager counts
// units, not GPUs: it aligns a request for two GPUs with a NUMA node whose only GPU has enough units.
func (s *Server) checkAligned(ctx context.Context, ids []string, parts []slice.Part, devices []gpu.Device) error {
	if !s.mayAlign(devices) || s.Slots.Exists(ids) || !s.Allocations.Synced() {
		return nil
	}
	demands := s.Allocations.AwaitDemand(ctx, len(ids))
	least := 0
	for _, d := range demands {
		if d.Units == len(ids) && (least == 0 || d.Count < least) {
			least = d.Count
		}
	}
	if least <= len(parts) {
		return nil
	}
	return fmt.Errorf(
		"kubelet aligned this container with one NUMA node, where it found %d of the %d GPUs that the pod asks for "+
			"(annotation %s): it fits on a node whose NUMA nodes have more GPUs, or with --numa-topology=false",
		len(parts), least, gpushare.CountAnnotation)
}

// alignmentAdvice returns what to add to a rejection if kubelet's Topology Manager may be its cause.
func (s *Server) alignmentAdvice(devices []gpu.Device) string {
	if !s.mayAlign(devices) {
		return ""
	}
	return fmt.Sprintf(". The GPUs lie on %d NUMA nodes: under a topology policy other than none, kubelet may have "+
		"offered the units of one of them only", len(distinctNodes(devices)))
}
