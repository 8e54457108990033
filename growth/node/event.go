package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Event is something that happened to the node. The types in this file are all there are.
type Event interface{ apply(n *Node) }

// PodUpdated carries a pod of this node that asks for a GPU share, as it is now.
type PodUpdated struct{ Pod Pod }

// PodDeleted says that a pod no longer exists.
type PodDeleted struct {
	Pod growth.PodUID
	// CPU is what the pod had consumed at its end. It is nil where that is unknown, as on a real node, whose kubelet has
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

// CapacityChanged carries the CPU that the node can allocate to pods.
type CapacityChanged struct{ CPU growth.MilliCPU }

// MemoryRestored carries what an earlier coordinator saved on the node. It comes before all other events.
type MemoryRestored struct{ Memory Memory }

// SamplesRestored carries this node's samples that an earlier coordinator left on the bus.
type SamplesRestored struct{ Samples []bus.Sample }

// ForecastProvided carries the work of a job as predicted by somebody else. It replaces the node's own forecast.
type ForecastProvided struct {
	Pod growth.PodUID
	// Left is the work to the job's end, Need the work until its metric reaches its target. What is nil the node predicts.
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
	// Counted is set where the step is a count of reports and not a number that the job wrote.
	Counted bool
}

// ContainerRestarted says that the container whose log or file is read has started again.
type ContainerRestarted struct{ Pod growth.PodUID }

// ProgressUnreadable says that a job's file cannot be read.
type ProgressUnreadable struct {
	Pod growth.PodUID
	Err string
}

// SlotsOpened says that the sockets of these slots are open.
type SlotsOpened struct{ Slots []string }

// ConfigSent says that a config was written to a job's connection.
type ConfigSent struct {
	Slot       string
	Generation int64
}

// ConfigAcked says that a job runs with a config.
type ConfigAcked struct {
	Slot string
	Ack  wire.Ack
}

// CheckpointSaved says that a job has saved a checkpoint.
type CheckpointSaved struct {
	Slot string
	Step int64
}

// LinesRejected counts lines of a job that were not accepted.
type LinesRejected struct {
	Slot string
	// Malformed lines were no messages, Dropped ones exceeded the rate. Unknown ones had a type that this build does not
	// know, which is no fault of the job.
	Malformed, Unknown, Dropped int
	// Closed is set where the connection was closed for it.
	Closed bool
	// Err says what was wrong with the last malformed line.
	Err string
}

// ResizeFinished says what became of a resize.
type ResizeFinished struct {
	Resize Resize
	Result ResizeResult
	// Weight is the cgroup's CPU weight as read back. Verified is set where it is the new one.
	Weight   int64
	Verified bool
	// Err says why the request was not changed.
	Err string
}

// ResizeResult is the result of one resize.
type ResizeResult int

const (
	// ResizeAccepted means that the request was changed, or the weight written.
	ResizeAccepted ResizeResult = iota
	// ResizeGone means that the pod no longer exists.
	ResizeGone
	// ResizeRejected means that the API server does not permit this request. To repeat it is useless.
	ResizeRejected
	// ResizeFailed means any other error. The resize is repeated.
	ResizeFailed
)

// Ticked starts a round: one each interval. It carries what the pods of all jobs have used so far; one whose usage could
// not be read is absent.
type Ticked struct {
	Usages  map[growth.PodUID]Usage
	Stalled Stalled
}

// Woken says that the time of Effects.Wake has come. It carries usages as Ticked does.
type Woken struct{ Usages map[growth.PodUID]Usage }
