package cache

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// state is the mutable state that snapshots are made of. Only the goroutine of Run uses it.
type state struct {
	resource corev1.ResourceName
	nodes    map[growth.NodeName]*nodeState
	pods     map[growth.PodUID]*request.Pod
	samples  map[growth.PodUID]sample
	// refused are the errors of unreadable job records. refusedOnNodes counts those of nodes, as last published.
	refused        map[string]error
	refusedOnNodes int

	nodesWatch, jobsWatch watchState
	// informed is true once the informers have delivered their first lists.
	informed bool
	// holders is Snapshot.Holders as last published.
	holders map[growth.PodUID]int

	// What has changed since the last snapshot.
	changedNodes   map[growth.NodeName]struct{}
	changedPods    map[growth.PodUID]struct{}
	changedSamples map[growth.PodUID]struct{}
	changedHolders map[growth.PodUID]int // by how many
}

// watchState is the state of one watch on the bus.
type watchState struct {
	synced bool
	// listing is true after a part of a list: the state is then no instant of the bus. A list that fails starts again.
	listing     bool
	revision    bus.Revision
	unavailable error
	since       time.Time
}

func newState(resource corev1.ResourceName) *state {
	return &state{
		resource:       resource,
		nodes:          map[growth.NodeName]*nodeState{},
		pods:           map[growth.PodUID]*request.Pod{},
		samples:        map[growth.PodUID]sample{},
		refused:        map[string]error{},
		holders:        map[growth.PodUID]int{},
		changedNodes:   map[growth.NodeName]struct{}{},
		changedPods:    map[growth.PodUID]struct{}{},
		changedSamples: map[growth.PodUID]struct{}{},
		changedHolders: map[growth.PodUID]int{},
	}
}

// change returns the state of a node for a change.
func (s *state) change(name growth.NodeName) *nodeState {
	s.changedNodes[name] = struct{}{}
	if s.nodes[name] == nil {
		s.nodes[name] = &nodeState{records: &reservations.NodeRecords{}}
	}
	return s.nodes[name]
}

func (s *state) applyNodes(batch bus.Batch) {
	if batch.Reset {
		for name := range s.nodes {
			s.change(name).records = &reservations.NodeRecords{}
		}
	}
	for _, name := range batch.Deleted {
		key, err := bus.ParseKey(name)
		if err == nil {
			s.change(key.Node).records.Remove(key)
		}
	}
	for _, entry := range batch.Entries {
		key, err := bus.ParseKey(entry.Key)
		if err == nil {
			s.change(key.Node).records.Set(key, entry)
		}
	}
}

func (s *state) applyJobs(batch bus.Batch) {
	if batch.Reset {
		for pod := range s.samples {
			s.removeSample(pod)
		}
		clear(s.refused)
	}
	for _, name := range batch.Deleted {
		delete(s.refused, name)
		key, err := bus.ParseKey(name)
		if err == nil && key.Kind == bus.KindSample {
			s.removeSample(key.Pod)
		}
	}
	for _, entry := range batch.Entries {
		key, err := bus.ParseKey(entry.Key)
		if err != nil || key.Kind != bus.KindSample {
			continue
		}
		s.removeSample(key.Pod)
		delete(s.refused, entry.Key)
		decoded, err := bus.Decode[bus.Sample](entry.Value)
		if err != nil {
			s.refused[entry.Key] = err
			continue
		}
		s.samples[key.Pod] = slimSample(decoded)
		s.changedNodes[decoded.Node] = struct{}{}
	}
}

func (s *state) removeSample(pod growth.PodUID) {
	s.changedSamples[pod] = struct{}{}
	if old, ok := s.samples[pod]; ok {
		s.changedNodes[old.node] = struct{}{}
		delete(s.samples, pod)
	}
}

// setPod replaces a pod. nil stands for a pod that was deleted or does not request a share any more.
func (s *state) setPod(uid growth.PodUID, p *request.Pod) {
	old, known := s.pods[uid]
	if known && p != nil && earlier(p.ResourceVersion, old.ResourceVersion) {
		return
	}
	if known {
		s.removePod(uid, old, p == nil || p.Ended)
	}
	if p == nil {
		return
	}
	s.changedPods[uid] = struct{}{}
	s.pods[uid] = p
	if p.Node != "" && !p.Ended && len(p.GPUs) > 0 {
		node := s.change(p.Node)
		node.unshare()
		node.bound[uid] = placement.BoundPod{GPUs: p.GPUs, Request: p.Request}
	}
}

func (s *state) removePod(uid growth.PodUID, old *request.Pod, ended bool) {
	s.changedPods[uid] = struct{}{}
	delete(s.pods, uid)
	if old.Node == "" {
		return
	}
	node := s.change(old.Node)
	node.unshare()
	delete(node.bound, uid)
	if ended {
		node.addEnded(uid)
	}
}

// earlier reports whether one resource version of an object precedes another. Resource versions are growing numbers; any
// other text does not precede anything.
func earlier(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return err == nil && x < y
}

func (s *state) setNode(node *corev1.Node, present bool) {
	name := growth.NodeName(node.Name)
	unlabelled := present && node.Labels[gpushare.NodeLabel] != "true"
	old, ok := s.nodes[name]
	if ok && old.registered == present && old.unlabelled == unlabelled {
		return // most updates are heartbeats
	}
	changed := s.change(name)
	changed.registered, changed.unlabelled = present, unlabelled
}

func (s *state) sample(pod growth.PodUID) (bus.Sample, bool) {
	kept, ok := s.samples[pod]
	return kept.sample(), ok
}
