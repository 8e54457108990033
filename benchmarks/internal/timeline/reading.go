package timeline

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// State is how far a job has come, in a word.
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

// Over tells whether nothing more will come of the job.
func (s State) Over() bool { return s == Finished || s == Failed || s == Gone }

// Reading is one look at the cluster.
type Reading struct {
	At    time.Time
	Nodes []Node
	Jobs  []Job
	// Blind says why the tuner could not be asked: pods are known, progress is as of the last reading that had it.
	Blind string
}

// Node is a node that shares GPUs.
type Node struct {
	Name     growth.NodeName
	Policy   string
	CPUPool  growth.MilliCPU
	CPUUsed  growth.MilliCPU
	Emulated bool
	GPUs     []GPU
}

// GPU is one device of a node.
type GPU struct {
	UUID    growth.GPU
	Model   string
	Memory  growth.MiB
	Healthy bool
}

// Job is one job at one moment. What comes from the pod is always there, what comes from the coordinator once it has
// reported (Sampled).
type Job struct {
	Name, Kind string
	State      State
	Node       growth.NodeName
	GPU        growth.GPU
	GPUMemory  growth.MiB
	Restarts   int
	// Refusals is how often kubelet refused the job's pod before it ran, and it was submitted again.
	Refusals int
	// Request is the CPU request in force, as kubelet reports it on the pod.
	Request   growth.MilliCPU
	Submitted time.Time
	Started   time.Time
	Ended     time.Time

	Sampled  bool
	Reported bool
	// Step counts up to Steps. Where Steps is zero the job does not tell its length, and Step may count its reports.
	Step     int64
	Steps    int64
	Metric   string
	Value    float64
	Growth   growth.Growth
	Category growth.Category
	Share    growth.Share
	// Weight is the cgroup's weight, as the coordinator read it back.
	Weight  int64
	CPUUsed growth.MilliCPU
	Memory  growth.MiB
	// Loaders is what the job says it runs with; Acknowledged the newest advice it has confirmed.
	Loaders      *int
	Acknowledged int64
	Advice       string
}

// Completion is how long the job took from submission to its end, zero while it has not ended.
func (j Job) Completion() time.Duration {
	if j.Ended.IsZero() || j.Submitted.IsZero() {
		return 0
	}
	return j.Ended.Sub(j.Submitted)
}
