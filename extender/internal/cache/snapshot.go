package cache

import (
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Snapshot is one instant of the cluster. Nothing in it ever changes.
type Snapshot struct {
	Nodes Roll
	Pods  Table[growth.PodUID, *request.Pod]
	// Claims counts the records by which a pod holds memory, on all nodes.
	Claims Table[growth.PodUID, int]
	// Revision is the bus's, up to which Nodes are complete.
	Revision bus.Revision
	// Synced is false until informers and bus have told everything once.
	Synced bool
	// Away is why the bus can not be reached, nil while it can; Since is when that began.
	Away  error
	Since time.Time
	// Refused counts records on the bus that this build can not read.
	Refused int

	samples Table[growth.PodUID, observation]
}

// Node is one node at that instant.
type Node struct {
	placement.Node
	// Obstacle says why no share can be had here at all, empty where one can.
	Obstacle     string
	Reservations map[growth.PodUID]reservations.Reserved
	Allocations  map[growth.PodUID]bus.Allocation
	// Bound are the running pods that the API server says have GPUs here.
	Bound map[growth.PodUID]placement.BoundPod
	// Drift is where plans and reality differ.
	Drift placement.Drift
	// Mismatch is where kubelet did not as was planned.
	Mismatch placement.Mismatch
	// Published is the revision of the inventory, Gone are the GPUs that had an epoch and are not in it.
	Published bus.Revision
	Gone      []growth.GPU

	// soon is the node without pods that have ended; nil where there is none.
	soon *placement.Node
	// records are what the node was made of, without samples.
	records placement.Records
	// refused counts the node's records that this build can not read.
	refused int
}

// Node returns a node, nil where nothing is known of it.
func (s *Snapshot) Node(name growth.NodeName) *Node {
	return s.Nodes.Seat(name).Node
}

// Expected is the node as the books will have it when its device plugin has taken note of who has ended. Kubelet gives
// their devices away at once, but the scheduler tries a pod that waits when another ends, and may not soon again: told that
// the node is still full, it would wait for minutes. Nothing is reserved on this: Bind goes by the books.
func (n *Node) Expected() placement.Node {
	if n.soon != nil {
		return *n.soon
	}
	return n.Node
}

// expect takes pods off what is expected.
func (n *Node) expect(over map[growth.PodUID]struct{}, sample func(growth.PodUID) (bus.Sample, bool)) {
	if n.Obstacle != "" {
		return
	}
	records := n.records
	records.Sample = sample
	records.Allocations, records.Reservations = maps.Clone(records.Allocations), maps.Clone(records.Reservations)
	for pod := range over {
		delete(records.Allocations, pod)
		delete(records.Reservations, pod)
	}
	n.soon = new(placement.NewNode(n.Name, records))
}

// Inventory is what the node's device plugin publishes, nothing where there is none.
func (n *Node) Inventory() bus.NodeGPUs { return n.records.Inventory }

// With is the node with reservations beside those on the bus.
func (s *Snapshot) With(n *Node, reservations map[growth.PodUID]bus.Reservation) placement.Node {
	if len(reservations) == 0 || n.Obstacle != "" {
		return n.Node
	}
	records := n.records
	records.Sample = s.Sample
	records.Reservations = maps.Clone(records.Reservations)
	maps.Copy(records.Reservations, reservations)
	return placement.NewNode(n.Name, records)
}

// Reread is the node by books that are newer than the snapshot.
func (s *Snapshot) Reread(name growth.NodeName, books *reservations.Books) *Node {
	var bound map[growth.PodUID]placement.BoundPod
	if known := s.Node(name); known != nil {
		bound = known.Bound
	}
	return picture(name, books, bound, s.Sample)
}

// Sample is what its coordinator last said of a job, as far as decisions are made of it.
func (s *Snapshot) Sample(pod growth.PodUID) (bus.Sample, bool) {
	o, ok := s.samples.Get(pod)
	return o.sample(), ok
}

// OverCommitted is the memory held beyond what there is, on all GPUs. It must be nothing.
func (s *Snapshot) OverCommitted() growth.MiB {
	var over growth.MiB
	for _, n := range s.Nodes.All() {
		over += n.OverCommitted()
	}
	return over
}

// compare notes what kubelet did not as was planned, by what was noted before.
func (n *Node) compare(before *Node) {
	switch {
	case n == nil:
	case before == nil:
		n.Mismatch = placement.Mismatch{}.Update(placement.Records{}, n.records)
	default:
		n.Mismatch = before.Mismatch.Update(before.records, n.records)
	}
}

// picture makes a node's part of a snapshot.
func picture(name growth.NodeName, books *reservations.Books, bound map[growth.PodUID]placement.BoundPod, sample func(growth.PodUID) (bus.Sample, bool)) *Node {
	n := &Node{
		Node: placement.Node{Name: name}, Reservations: books.Reservations, Allocations: books.Allocations, Bound: bound,
		Published: books.Published, Gone: books.Gone(),
		refused: len(books.Refused),
	}
	reservations := make(map[growth.PodUID]bus.Reservation, len(books.Reservations))
	for pod, r := range books.Reservations {
		reservations[pod] = r.Reservation
	}
	n.records = placement.Records{Allocations: books.Allocations, Reservations: reservations, Bound: bound}
	if books.Inventory == nil {
		n.Obstacle = "no live device plugin on the node"
		if err, refused := books.Refused[bus.GPUsKey(name)]; refused {
			n.Obstacle = "the node's device plugin can not be understood: " + err.Error()
		}
		return n
	}
	n.records.Inventory = *books.Inventory
	records := n.records
	records.Sample = sample // which n.records must not have: it may look at what changes
	n.Node = placement.NewNode(name, records)
	n.Drift = placement.FindDrift(n.Node, records)
	if books.Inventory.Unheard {
		n.Obstacle = "the node's kubelet does not listen to its device plugin just now: it would refuse the pod"
	}
	return n
}
