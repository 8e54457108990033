package loop

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/turn"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Sockets are the jobs' sockets, one per slot.
type Sockets interface {
	// Open is idempotent. It fails until the folder of the slot exists.
	Open(ctx context.Context, slot string) error
	Close(slot string)
	Send(slot string, config wire.Config) error
	SendDuty(slot string, duty wire.Duty) error
	SendStop(slot string, stop wire.Stop) error
	// SendSave sends to the present connections only.
	SendSave(slot string, save wire.Save) error
	// Drain passes on what the job has sent, and returns then, or when ctx ends.
	Drain(ctx context.Context, slot string)
}

// Turns gives the turns of GPUs to jobs, through a second socket per slot.
type Turns interface {
	// Open is idempotent. It fails until the folder of the slot exists.
	Open(ctx context.Context, slot string) error
	Close(slot string)
	Plan(plan node.TurnPlan)
	Use() map[growth.PodUID]node.GPUUse
	// Order returns the status of a job and of the jobs with which it takes turns, in the order of their turns.
	Order(pod growth.PodUID) []turn.Status
}

// Busy reads how long pods have used the GPUs, as the driver has measured it.
type Busy interface {
	Busy() node.GPUBusy
}

// Usages reads cgroups.
type Usages interface {
	Usage(pod growth.PodUID, now time.Time) (cgroup.Usage, error)
	// Populated reports whether a pod has processes.
	Populated(pod growth.PodUID, now time.Time) bool
	// CPUs returns the number of CPUs to which a container is bound; false if it is not, or if that is unknown.
	CPUs(pod growth.PodUID, container string) (int, bool)
	// Node returns the time in which tasks of the whole node have waited.
	Node() cgroup.Stalled
}

// Logs follows the log of a container until ctx ends, from its current end if an earlier coordinator has read it.
type Logs interface {
	Follow(ctx context.Context, pod growth.PodRef, container string, before bool, reader *lines.Reader, sink lines.Sink)
}

// Files follows a file inside a container until ctx ends.
type Files interface {
	Follow(ctx context.Context, from jobfile.Source, reader *lines.Reader, sink lines.Sink)
}

// Enforcer applies CPU requests. It never blocks; the newest resizes replace those that have not begun.
type Enforcer interface {
	Enforce(resizes []node.Resize)
}

// MemoryRequests changes memory requests. It never blocks.
type MemoryRequests interface {
	EnforceMemory(r node.MemoryResize)
}

// Checkpoints lets jobs save by a signal.
type Checkpoints interface {
	// Save returns the SHA-256 of the file that the job has written, or why it has not, at the deadline of the request at the latest.
	Save(ctx context.Context, r node.SignalSave) (sha256 string, err error)
}

// Freezer stops and continues the processes of containers while their jobs are paused.
type Freezer interface {
	Pause(pod growth.PodUID, container string) error
	Resume(pod growth.PodUID, container string) error
}

// Records publishes on the bus. It never blocks.
type Records interface {
	// Sample publishes a sample. An urgent one does not wait for the usual gap between two writes.
	Sample(s bus.Sample, urgent bool)
	Gang(g node.GangReport)
	Load(l bus.NodeLoad)
	Speeds(s bus.Speeds)
	// Runs publishes the runs of a program, at most once in a while. Without runs it deletes them.
	Runs(p node.LearnedProgram)
	Forget(pod growth.PodUID)
}

// Pods writes events and annotations. It never blocks.
type Pods interface {
	Event(pod growth.PodRef, warning bool, reason, message string)
	Annotate(pod growth.PodRef, name, value string)
}

// Newcomers writes the shares of jobs that would arrive now, for the device plugin.
type Newcomers interface {
	Write(shares map[growth.GPU]growth.Share)
}

// Memory saves what a restarted coordinator needs, on the node itself. It never blocks; the newest memory replaces one
// that is not written yet.
type Memory interface {
	Save(m node.Memory)
}

// Watcher follows the bus.
type Watcher interface {
	Watch(ctx context.Context, prefix string) <-chan bus.Batch
}

// Ports are everything through which the loop acts.
type Ports struct {
	Sockets  Sockets
	Turns    Turns // nil: the time of GPUs is not divided
	Busy     Busy  // nil: not measured
	Usages   Usages
	Logs     Logs
	Files    Files
	Enforcer Enforcer
	// Checkpoints is nil where no signals are sent, Freezer where nothing is frozen.
	Checkpoints Checkpoints
	Freezer     Freezer
	// MemoryRequests is nil where requests cannot be changed.
	MemoryRequests MemoryRequests
	Records        Records
	Pods           Pods
	Memory         Memory
	Models         Watcher   // nil: nothing is known from other nodes
	Newcomers      Newcomers // nil: the device plugin assumes equal parts
}
