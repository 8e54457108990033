package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Event is an input of the state machine: one of the types in this file.
type Event interface{ apply(n *Node) }

// PodUpdated carries the current state of a pod of this node that asks for a GPU share.
type PodUpdated struct{ Pod Pod }

// PodDeleted means that a pod no longer exists.
type PodDeleted struct {
	Pod growth.PodUID
	// CPU is the CPU time that the pod has consumed. It is nil if that is unknown, as on a real node, where kubelet has
	// removed the cgroup by then.
	CPU *growth.Seconds
}

// AllocationsChanged carries all that kubelet has allocated to pods of this node, in the order of their keys.
type AllocationsChanged struct {
	Allocations []bus.Allocation
	// Synced is false until the list is complete for the first time.
	Synced bool
}

// AdviceChanged carries the tuner's advice for all jobs.
type AdviceChanged struct{ Advice map[growth.PodUID]bus.Advice }

// CapacityChanged carries the allocatable CPU of the node.
type CapacityChanged struct{ CPU growth.MilliCPU }

// MemoryRestored carries what an earlier coordinator saved on the node. It comes before all other events.
type MemoryRestored struct{ Memory Memory }

// SamplesRestored carries this node's samples that an earlier coordinator left on the bus.
type SamplesRestored struct{ Samples []bus.Sample }

// ForecastProvided carries a forecast of a job from another source. It replaces the node's own forecast.
type ForecastProvided struct {
	Pod growth.PodUID
	// Left is the work to the job's end, Need the work to its target. The node predicts a value that is nil.
	Left, Need *remaining.Estimate
}

// RunsProvided carries runs of similar jobs that the node has not seen itself.
type RunsProvided struct {
	Pod  growth.PodUID
	Runs []Run
}

// ProgressReported carries a report of a job: through the socket of Slot, or from the log or the file of Pod.
type ProgressReported struct {
	Slot     string
	Pod      growth.PodUID
	Source   gpushare.Source
	Progress wire.Progress
	// Counted means that the step is a count of reports and not a number that the job wrote.
	Counted bool
}

// ContainerRestarted means that the container whose log or file is read has restarted.
type ContainerRestarted struct{ Pod growth.PodUID }

// ProgressUnreadable means that a job's file cannot be read.
type ProgressUnreadable struct {
	Pod growth.PodUID
	Err string
}

// SlotsOpened means that the sockets of these slots are open.
type SlotsOpened struct{ Slots []string }

// ConfigSent means that a config was written to a job's connection.
type ConfigSent struct {
	Slot       string
	Generation int64
}

// ConfigAcked means that a job runs with a config.
type ConfigAcked struct {
	Slot string
	Ack  wire.Ack
}

// CheckpointSaved means that a job has saved a checkpoint.
type CheckpointSaved struct {
	Slot string
	Step int64
}

// LinesRejected counts lines of a job that were not accepted.
type LinesRejected struct {
	Slot string
	// Malformed counts lines that are not messages, Dropped lines above the rate, and Unknown messages of a type that
	// this build does not know, which is not a fault of the job.
	Malformed, Unknown, Dropped int
	// Closed means that the connection was closed for it.
	Closed bool
	// Err is the error of the last malformed line.
	Err string
}

// ResizeFinished carries the result of a resize.
type ResizeFinished struct {
	Resize Resize
	Result ResizeResult
	// Weight is the CPU weight read back from the cgroup. Verified means that it is the new one.
	Weight   int64
	Verified bool
	// Err is the reason why the request was not changed.
	Err string
}

// ResizeResult is the result of one resize.
type ResizeResult int

const (
	// ResizeAccepted means that the request was changed, or the weight written.
	ResizeAccepted ResizeResult = iota
	// ResizeGone means that the pod no longer exists.
	ResizeGone
	// ResizeRejected means that the API server does not permit this request. A retry is useless.
	ResizeRejected
	// ResizeFailed means any other error. The resize is retried.
	ResizeFailed
)

// Ticked starts a round, once per interval. It carries the usage of the pods of all jobs so far. A pod whose usage
// could not be read is absent.
type Ticked struct {
	Usages  map[growth.PodUID]Usage
	Stalled Stalled
}

// Woken means that the time of Effects.Wake has come. It carries usages as Ticked does.
type Woken struct{ Usages map[growth.PodUID]Usage }
