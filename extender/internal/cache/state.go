package cache

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/records"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// state is the mutable state that snapshots are made of. Only the goroutine of Run uses it.
type state struct {
	resource corev1.ResourceName
	nodes    map[growth.NodeName]*nodeState
	pods     map[growth.PodUID]*request.Pod
	samples  map[growth.PodUID]sample
	// left is that of all jobs with a sample.
	left placement.TimeLeft
	// refused are the errors of unreadable job records. refusedOnNodes counts those of nodes, as last published.
	refused        map[string]error
	refusedOnNodes int

	nodesWatch, jobsWatch watchState
	learned               *Learned
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
	// listing is true after a part of a list: the state is then not a consistent state of the bus. A list that fails starts again.
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
	before := s.samples
	if batch.Reset {
		before = maps.Clone(s.samples)
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
		last := before[key.Pod]
		s.removeSample(key.Pod)
		delete(s.refused, entry.Key)
		decoded, err := records.Read[bus.Sample](entry.Value)
		if err != nil {
			s.refused[entry.Key] = err
			continue
		}
		kept := slimSample(decoded, entry.Revision, last, time.Now())
		s.samples[key.Pod] = kept
		s.left.Add(kept.left)
		s.changedNodes[decoded.Node] = struct{}{}
	}
}

func (s *state) removeSample(pod growth.PodUID) {
	s.changedSamples[pod] = struct{}{}
	if old, ok := s.samples[pod]; ok {
		s.changedNodes[old.node] = struct{}{}
		s.left.Remove(old.left)
		delete(s.samples, pod)
	}
}

// Sample implements placement.Jobs.
func (s *state) Sample(pod growth.PodUID) (bus.Sample, bool) {
	kept, ok := s.samples[pod]
	return kept.sample(), ok
}

// Kind implements placement.Jobs.
func (s *state) Kind(pod growth.PodUID) interference.Kind { return kindOf(s.pods[pod]) }

// RequestedCPU implements placement.Jobs.
func (s *state) RequestedCPU(pod growth.PodUID) growth.MilliCPU { return cpuOf(s.pods[pod]) }

// cpuOf returns the CPU request of a pod. nil is an unknown pod.
func cpuOf(pod *request.Pod) growth.MilliCPU {
	if pod == nil {
		return 0
	}
	return pod.Request.CPU
}

// kindOf returns the kind of a pod's job. nil is an unknown pod.
func kindOf(pod *request.Pod) interference.Kind {
	if pod == nil {
		return ""
	}
	return pod.Request.Kind
}
