package rebalance

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Cluster is what is known of a cluster.
type Cluster struct {
	Now   time.Time
	Nodes []Node
	// Pending are the pods without a node.
	Pending []Pending
	// Moving is the number of moves in flight.
	Moving int
	// Past are the moves of all jobs.
	Past []Past
	// Policy places a job on the GPUs of a node. Model predicts speeds of jobs whose kernels overlap; nil is the prior.
	Policy placement.Policy
	Model  *interference.Model
	// Allowed reports whether a pod may run on a node by everything but GPU memory: CPU, taints, affinity. It may be slow, and
	// is called last.
	Allowed func(pod growth.PodUID, on growth.NodeName) bool
	// MissingImages returns the size of the images of a pod that a node does not have; 0 if it has all, or if that is unknown. It may
	// be slow too. Nil means that all nodes have all images.
	MissingImages func(pod growth.PodUID, on growth.NodeName) growth.MiB
}

// Node is a node with its jobs.
type Node struct {
	placement.Node
	// GPUTime is set if the jobs share the time of GPUs, and Overlap if their kernels run at the same time there. Else they
	// share CPU.
	GPUTime, Overlap bool
	CPU              growth.MilliCPU
	// Models are the models of its GPUs.
	Models map[growth.GPU]string
	Jobs   []Job
	// Unused says why the node takes no part in any move; empty if it does.
	Unused string
}

// Job is a job that holds GPU memory on a node.
type Job struct {
	Pod      growth.PodRef
	GPUs     []growth.GPU
	Request  placement.Request
	Priority int32
	// Created is when the pod was created. It came to its node later.
	Created time.Time
	// Fixed says why the job cannot be moved; empty if it can.
	Fixed   string
	History move.History
	// Prospects are nil if the job's coordinator has published nothing.
	Prospects *Prospects
}

// Prospects are what a coordinator has published about a job.
type Prospects struct {
	Node growth.NodeName
	// Remaining is the work to the job's end, and Usable the most that the job can use at once, in thousandths of a core or of
	// a GPU; 0 if it is unknown.
	Remaining remaining.Estimate
	Usable    growth.MilliCPU
	// Activity is the fraction of its step time in which the job does not wait for data; 0 if it is unknown.
	Activity growth.Share
	// Age is the time since they were published.
	Age time.Duration
}

// Pending is a pod that waits for a node.
type Pending struct {
	Pod      growth.PodRef
	Request  placement.Request
	Priority int32
	Created  time.Time
	// Helped is set if a job has moved, or moves, to make room for the pod.
	Helped bool
}

// Past is the moves of a job.
type Past struct {
	Kind interference.Kind
	move.History
}

// Decision is a move.
type Decision struct {
	Pod      growth.PodRef
	From, To growth.NodeName
	Cause    move.Cause
	// Because explains the move to users.
	Because string
	// For is the pod that the move makes room for.
	For growth.PodRef
	// Delay is the longest time by which another job of the target ends later.
	Delay growth.Seconds
}
