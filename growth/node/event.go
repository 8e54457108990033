package node

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Event is an input of the state machine. All event types are in this file.
type Event interface{ apply(n *Node) }

// PodUpdated has the current state of a pod of this node that requests a GPU share.
type PodUpdated struct{ Pod Pod }

// PodDeleted reports that a pod no longer exists.
type PodDeleted struct {
	Pod growth.PodUID
	// CPU is the CPU time that the pod had consumed at its end. It is nil if unknown, as on a real node, where kubelet
	// removes the cgroup before the pod is deleted.
	CPU *growth.Seconds
	// GPU is likewise the work on GPUs, in GPU-seconds.
	GPU *growth.Seconds
}

// AllocationsChanged has the allocations of all pods of this node, in the order of their keys on the bus.
type AllocationsChanged struct {
	Allocations []bus.Allocation
	// Synced is false until the list has been complete once.
	Synced bool
}

// AdviceChanged has the tuner's advice for all jobs.
type AdviceChanged struct{ Advice map[growth.PodUID]bus.Advice }

// GangsChanged has what other nodes say about their ranks, by Sample.Gang and node. Self is the name of this node.
type GangsChanged struct {
	Self   growth.NodeName
	Others map[string]map[growth.NodeName]bus.GangRanks
}

// CapacityChanged has the node's allocatable CPU.
type CapacityChanged struct{ CPU growth.MilliCPU }

// PodAccounted has the CPU request of a pod of this node, of any kind, as the scheduler accounts it. It is 0 for a pod that
// has ended.
type PodAccounted struct {
	Pod growth.PodUID
	CPU growth.MilliCPU
}

// ExclusiveChanged has the pods of this node, of any kind, to which kubelet's CPU manager has given cores of their own, and
// how many.
type ExclusiveChanged struct{ Cores map[growth.PodUID]int }

// InventoryChanged reports whether the node's GPUs compute: they are real, or emulated on cores of the node.
type InventoryChanged struct {
	Computes bool
	// MPS is set if the jobs of a GPU are clients of one MPS server, so that their kernels run at the same time.
	MPS bool
}

// InterferenceLearned has the model of interference that was learned for the whole cluster, or interference.Prior. What the
// node has measured itself counts more.
type InterferenceLearned struct{ Model interference.Model }

// MemoryRestored has the Memory that an earlier coordinator saved on the node. It must precede all other events.
type MemoryRestored struct{ Memory Memory }

// SamplesRestored has this node's samples that an earlier coordinator left on the bus.
type SamplesRestored struct{ Samples []bus.Sample }

// OriginsChanged has the last samples of pods whose jobs have moved, on all nodes, by the pods that continue the jobs.
type OriginsChanged struct{ Origins map[growth.PodUID]bus.Sample }

// ForecastProvided has an external forecast of a job's work, which replaces the node's own. The simulator sends it.
type ForecastProvided struct {
	Pod growth.PodUID
	// Remaining is the work to the job's end, ToTarget the work until its metric reaches its target. The node predicts
	// a nil value itself.
	Remaining, ToTarget *remaining.Estimate
}

// RunsProvided has what other nodes have learned about the program of a job, as Effects.Recall requests. The runs are valid.
type RunsProvided struct {
	Pod  growth.PodUID
	Runs []programs.Run
}

// ProgressReported has a progress report of a job. It came through the socket of Slot, or from the log or file of Pod.
type ProgressReported struct {
	Slot string
	// Connection identifies the connection to the socket, and so the process. 0 means unknown.
	Connection int64
	Pod        growth.PodUID
	Source     gpushare.Source
	Progress   wire.Progress
	// Counted is set if the step is the number of reports so far, because the job does not write its step.
	Counted bool
}

// ProcessReported has the reports that one process has sent through the socket of Slot since the last event, oldest first.
type ProcessReported struct {
	Slot       string
	Connection int64 // as in ProgressReported
	Reports    []wire.Progress
}

// ProcessLeft reports that a connection to the socket of a slot has ended.
type ProcessLeft struct {
	Slot       string
	Connection int64
}

// ContainerRestarted reports a restart of the container whose log or file is read.
type ContainerRestarted struct{ Pod growth.PodUID }

// ProgressUnreadable reports that a job's log or file cannot be read.
type ProgressUnreadable struct {
	Pod growth.PodUID
	Err string
}

// LogUnmatched reports that none of the lines that a job has written so far has a report.
type LogUnmatched struct {
	Pod   growth.PodUID
	Lines int
	// Example is one of the lines, cut to a reasonable length.
	Example string
}

// LogFormatUnknown reports that a job's log is in a format that cannot be read. Err names what it looks like.
type LogFormatUnknown struct {
	Pod growth.PodUID
	Err string
}

// SlotsOpened reports that the sockets of these slots are open.
type SlotsOpened struct{ Slots []string }

// ConfigSent reports that a config was written to a job's connection.
type ConfigSent struct {
	Slot       string
	Generation int64
}

// ConfigAcked reports that a process of a job has applied a config.
type ConfigAcked struct {
	Slot string
	// Connection is as in ProgressReported.
	Connection int64
	Ack        wire.Ack
}

// JobDescribed has what a job says about its model.
type JobDescribed struct {
	Slot     string
	Describe wire.Describe
}

// CheckpointSaved reports that a process has saved a checkpoint.
type CheckpointSaved struct {
	Slot       string
	Connection int64 // as in ProgressReported
	Saved      wire.Saved
}

// CheckpointFailed has the answer of a process that has not saved on request.
type CheckpointFailed struct {
	Slot       string
	Connection int64 // as in ProgressReported
	Failed     wire.Failed
}

// SignalAnswered has what came of a SignalSave.
type SignalAnswered struct {
	Pod     growth.PodUID
	Request int64
	// SHA256 is that of the complete file on the disk. Err is why there is none; empty if there is one.
	SHA256 string
	Err    string
	// Ended is set if no process was left to receive the signal.
	Ended bool
}

// FreezeFinished has the result of a ContainerFreeze: whether the container is frozen now, and why if that is not what was
// ordered.
type FreezeFinished struct {
	Pod       growth.PodUID
	Container string
	Frozen    bool
	Err       string
}

// ProcessStopped has the answer of a process to a wire.Stop.
type ProcessStopped struct {
	Slot       string
	Connection int64 // as in ProgressReported
	Stopped    wire.Stopped
}

// LinesRejected counts lines from a job's socket that were not accepted.
type LinesRejected struct {
	Slot string
	// Malformed lines are invalid, and Dropped lines exceeded the rate limit. Unknown lines have a type that this build
	// does not know, which is not an error of the job.
	Malformed, Unknown, Dropped int
	// Closed is set if the connection was closed because of these lines.
	Closed bool
	// Err is the error of the last malformed line.
	Err string
}

// ResizeFinished has the result of a resize.
type ResizeFinished struct {
	Resize Resize
	Result ResizeResult
	// Weight is the CPU weight that was read back from the cgroup. Verified is set if it is the new one.
	Weight   int64
	Verified bool
	// Err is the reason why the request was not changed. Quota is the name of the quota of ResizeOverQuota.
	Err   string
	Quota string
}

// ResizeResult is the result of one resize.
type ResizeResult int

const (
	// ResizeAccepted means that the request was changed, or the weight written.
	ResizeAccepted ResizeResult = iota
	// ResizeGone means that the pod no longer exists.
	ResizeGone
	// ResizeRejected means that the API server does not permit this request. A retry would fail as well.
	ResizeRejected
	// ResizeFailed means any other error. The resize is retried.
	ResizeFailed
	// ResizeOverQuota means that a quota forbids the request.
	ResizeOverQuota
	// ResizeConflict means that another client has changed the requests since the decision. Its change stays.
	ResizeConflict
)

// Ticked starts a round, once per interval. Usages has the counters of all jobs' pods, except those that could not be
// read.
type Ticked struct {
	Usages  map[growth.PodUID]Usage
	Stalled Stalled
	// GPU has the use of GPUs by the jobs of the last TurnPlan, by TurnJob.Pod.
	GPU map[growth.PodUID]GPUUse
	// Busy is what the driver has measured.
	Busy GPUBusy
}

// Woken reports that the time of Effects.Wake has come. The other fields are as in Ticked.
type Woken struct {
	Usages map[growth.PodUID]Usage
	GPU    map[growth.PodUID]GPUUse
	Busy   GPUBusy
}
