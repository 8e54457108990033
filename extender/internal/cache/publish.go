package cache

import (
	"iter"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// snapshot makes the next snapshot. It shares everything unchanged with the last one.
func (s *state) snapshot(last *Snapshot) *Snapshot {
	next := *last
	next.Learned = s.learned
	next.Synced = s.informed && s.nodesWatch.synced && s.jobsWatch.synced
	next.Unavailable, next.Since = s.nodesWatch.unavailable, s.nodesWatch.since
	if next.Unavailable == nil && s.jobsWatch.unavailable != nil {
		next.Unavailable, next.Since = s.jobsWatch.unavailable, s.jobsWatch.since
	}
	if !next.Synced || s.nodesWatch.listing || s.jobsWatch.listing { // no decision on half a cluster
		return &next
	}
	next.Revision = s.nodesWatch.revision
	if len(s.changedPods) > 0 {
		next.Pods = last.Pods.With(maps.Keys(s.changedPods), func(pod growth.PodUID) (*request.Pod, bool) {
			p, ok := s.pods[pod]
			return p, ok
		})
	}
	if len(s.changedSamples) > 0 {
		next.samples = last.samples.With(maps.Keys(s.changedSamples), func(pod growth.PodUID) (sample, bool) {
			kept, ok := s.samples[pod]
			return kept, ok
		})
		next.Stay = s.left.Stay()
	}
	if len(s.changedNodes) > 0 {
		// In the first snapshot sorted nodes get their slots in the order in which the scheduler mostly lists them.
		changed := slices.Values(slices.Sorted(maps.Keys(s.changedNodes)))
		next.Nodes = last.Nodes.With(changed, func(name growth.NodeName) *NodeInfo { return s.update(last.Node(name), name) })
		next.Holders = last.Holders.With(s.updateHolders(), func(pod growth.PodUID) (int, bool) {
			n, ok := s.holders[pod]
			return n, ok
		})
	}
	next.Refused = len(s.refused) + s.refusedOnNodes
	clear(s.changedPods)
	clear(s.changedSamples)
	clear(s.changedHolders)
	clear(s.changedNodes)
	return &next
}

// update makes a node's next version, and counts what changed.
func (s *state) update(before *NodeInfo, name growth.NodeName) *NodeInfo {
	after := s.nodeInfo(name)
	after.updateMismatch(before)
	s.refusedOnNodes += after.refusals() - before.refusals()
	s.countHolders(before, after, 1)
	s.countHolders(after, before, -1)
	return after
}

// nodeInfo makes a node's part of the next snapshot, nil if no source has anything about the node any more.
func (s *state) nodeInfo(name growth.NodeName) *NodeInfo {
	node, known := s.nodes[name]
	if !known {
		return nil
	}
	if node.empty() {
		delete(s.nodes, name)
		return nil
	}
	node.shared = true
	info := newNodeInfo(name, node.records.Snapshot(), node.bound, s)
	maps.DeleteFunc(node.ended, func(pod growth.PodUID, _ struct{}) bool { return !node.records.Holds(pod) })
	if len(node.ended) > 0 {
		info.expect(node.ended, s)
	}
	if node.unlabelled && node.records.Inventory == nil {
		info.Unschedulable = "the node shares no GPUs: label " + gpushare.NodeLabel + "=true is missing"
	}
	return info
}

// countHolders adds by for each record of a node that its other version does not have. Most records do not change.
func (s *state) countHolders(before, after *NodeInfo, by int) {
	if after == nil {
		return
	}
	if before == nil {
		before = &NodeInfo{}
	}
	countNew(s.changedHolders, before.Reservations, after.Reservations, by)
	countNew(s.changedHolders, before.Allocations, after.Allocations, by)
	countNew(s.changedHolders, before.Bound, after.Bound, by)
}

func countNew[V any](changed map[growth.PodUID]int, before, after map[growth.PodUID]V, by int) {
	for pod := range after {
		if _, ok := before[pod]; !ok {
			changed[pod] += by
		}
	}
}

// updateHolders applies the changes, and returns the pods whose count is different.
func (s *state) updateHolders() iter.Seq[growth.PodUID] {
	maps.DeleteFunc(s.changedHolders, func(_ growth.PodUID, by int) bool { return by == 0 })
	for pod, by := range s.changedHolders {
		s.holders[pod] += by
		if s.holders[pod] == 0 {
			delete(s.holders, pod)
		}
	}
	return maps.Keys(s.changedHolders)
}

// refusal returns one of the unreadable records, for the log.
func (s *state) refusal() string {
	for key, err := range s.refused {
		return key + ": " + err.Error()
	}
	for _, node := range s.nodes {
		for key, err := range node.records.Refused {
			return key + ": " + err.Error()
		}
	}
	return ""
}
