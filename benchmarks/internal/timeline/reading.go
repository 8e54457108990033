package timeline

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// State is the phase of a job.
type State string

// The states of a job.
const (
	Expected State = "expected" // not submitted yet
	Pending  State = "pending"  // submitted, not bound to a node
	Starting State = "starting" // bound, its container does not run
	Running  State = "running"
	Finished State = "finished"
	Failed   State = "failed"
	Gone     State = "gone" // its pod was deleted by somebody else
)

// Over reports whether the job's state is final.
func (s State) Over() bool { return s == Finished || s == Failed || s == Gone }

// Reading is the state of the cluster at one moment.
type Reading struct {
	At    time.Time
	Nodes []Node
	Jobs  []Job
	// Unavailable is why the tuner did not answer. The pods are then known, and progress is that of the last reading.
	Unavailable string
}

// Node is a node that shares GPUs.
type Node struct {
	Name    growth.NodeName
	Policy  string
	CPUPool growth.MilliCPU
	CPUUsed growth.MilliCPU
	// Emulated means that the node's GPUs are emulated, Computes that they compute.
	Emulated bool
	Computes bool
	GPUs     []GPU
}

// GPU is one device of a node.
type GPU struct {
	UUID    growth.GPU
	Model   string
	Memory  growth.MiB
	Healthy bool
}

// Job is one job at one moment. Values of the pod are always present; those of the coordinator once it has reported
// (Sampled).
type Job struct {
	Name, Kind string
	State      State
	Node       growth.NodeName
	GPU        growth.GPU
	GPUMemory  growth.MiB
	Restarts   int
	// Refusals counts how often kubelet rejected the job's pod before it ran, and the pod was recreated.
	Refusals int
	// Request is the CPU request in force, as kubelet reports it on the pod.
	Request   growth.MilliCPU
	Submitted time.Time
	Started   time.Time
	Ended     time.Time

	Sampled  bool
	Reported bool
	// Step counts up to Steps. If Steps is zero, the job's length is unknown and Step may count its reports.
	Step     int64
	Steps    int64
	Metric   string
	Value    float64
	Growth   growth.Growth
	Category growth.Category
	Share    growth.Share
	// GPUShare is the decided part of the time of the job's GPUs; nil where that time is not divided.
	GPUShare *growth.Share
	// Weight is the cgroup's weight, as the coordinator read it back.
	Weight  int64
	CPUUsed growth.MilliCPU
	Memory  growth.MiB
	// Loaders is the number that the job runs with. Acknowledged is the newest advice that it has applied.
	Loaders      *int
	Acknowledged int64
	Advice       string
}

// DividesCPU reports whether the CPU of the job's node is divided for it. Jobs that share the time of their GPUs usually keep
// their request, and then have no share of the CPU.
func (j Job) DividesCPU() bool { return j.GPUShare == nil || j.Share > 0 }

// Completion returns the time from submission to the job's end, or zero before the end.
func (j Job) Completion() time.Duration {
	if j.Ended.IsZero() || j.Submitted.IsZero() {
		return 0
	}
	return j.Ended.Sub(j.Submitted)
}
