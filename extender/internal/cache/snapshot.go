package cache

import (
	"iter"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/fastpath"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Snapshot is one instant of the cluster. It is immutable.
type Snapshot struct {
	Nodes fastpath.Index[growth.NodeName, NodeInfo]
	Pods  fastpath.Map[growth.PodUID, *request.Pod]
	// Holders counts, for each pod, the records that give it GPU memory, on all nodes.
	Holders fastpath.Map[growth.PodUID, int]
	// Revision is the revision of the bus up to which Nodes are complete.
	Revision bus.Revision
	// Synced is false until the informers and the bus have delivered their first lists.
	Synced bool
	// Unavailable is why the bus is unavailable, nil while it is connected. Since is when that began.
	Unavailable error
	Since       time.Time
	// Learned predicts how jobs slow one another down. It is nil before a model was learned.
	Learned *Learned
	// Stay is for how long a new job is compared with those on a GPU: see placement.TimeLeft.
	Stay growth.Seconds
	// Refused is the number of records on the bus that this version cannot read.
	Refused int

	samples fastpath.Map[growth.PodUID, sample]
}

// Node returns a node, nil for an unknown one.
func (s *Snapshot) Node(name growth.NodeName) *NodeInfo {
	return s.Nodes.Get(name).Value
}

// WithAssumed returns the node with assumed reservations in addition to those on the bus.
func (s *Snapshot) WithAssumed(n *NodeInfo, assumed map[growth.PodUID]bus.Reservation) placement.Node {
	if len(assumed) == 0 || n.Unschedulable != "" {
		return n.Node
	}
	records := n.records
	records.Jobs = s
	records.Reservations = maps.Clone(records.Reservations)
	maps.Copy(records.Reservations, assumed)
	return placement.NewNode(n.Name, records)
}

// Reread returns the node by records that are newer than the snapshot.
func (s *Snapshot) Reread(name growth.NodeName, records *reservations.NodeRecords) *NodeInfo {
	var bound map[growth.PodUID]placement.BoundPod
	if known := s.Node(name); known != nil {
		bound = known.Bound
	}
	return newNodeInfo(name, records, bound, s)
}

// Sample returns the fields that decisions read of a job's latest sample.
func (s *Snapshot) Sample(pod growth.PodUID) (bus.Sample, bool) {
	kept, ok := s.samples.Get(pod)
	return kept.sample(), ok
}

// Prospects returns what a job's latest sample says about its future.
func (s *Snapshot) Prospects(pod growth.PodUID) (Prospects, bool) {
	kept, ok := s.samples.Get(pod)
	return kept.prospects(), ok
}

// Sampled returns the pods with a sample, and the nodes that it names.
func (s *Snapshot) Sampled() iter.Seq2[growth.PodUID, growth.NodeName] {
	return func(yield func(growth.PodUID, growth.NodeName) bool) {
		for pod, kept := range s.samples.All() {
			if !yield(pod, kept.node) {
				return
			}
		}
	}
}

// Kind returns the kind of a pod's job, empty if it is unknown.
func (s *Snapshot) Kind(pod growth.PodUID) interference.Kind {
	known, _ := s.Pods.Get(pod)
	return kindOf(known)
}

// RequestedCPU returns the CPU request of a pod, 0 if it is unknown.
func (s *Snapshot) RequestedCPU(pod growth.PodUID) growth.MilliCPU {
	known, _ := s.Pods.Get(pod)
	return cpuOf(known)
}

// OverCommitted returns the GPU memory that is held beyond the capacity of GPUs, in all. It must be zero.
func (s *Snapshot) OverCommitted() growth.MiB {
	var over growth.MiB
	for _, n := range s.Nodes.All() {
		over += n.OverCommitted()
	}
	return over
}
