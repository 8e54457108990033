package loop

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/cgroup"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/coordinator/internal/recall"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Sockets are the jobs' sockets, one a slot.
type Sockets interface {
	// Open is idempotent; it fails while the slot's folder is not there yet.
	Open(ctx context.Context, slot string) error
	Close(slot string)
	Send(slot string, config wire.Config) error
}

// Usages reads what a pod uses, and how long the node as a whole has waited.
type Usages interface {
	Usage(pod growth.PodUID, now time.Time) (cgroup.Usage, error)
	Node() cgroup.Stalled
}

// Logs follows a container's log until ctx ends, from its present end if an earlier coordinator has read it before.
type Logs interface {
	Follow(ctx context.Context, pod growth.PodRef, container string, before bool, reader *lines.Reader, sink lines.Sink)
}

// Files follows a file inside a container until ctx ends. failing is told why it can not be read, when that begins.
type Files interface {
	Follow(ctx context.Context, from jobfile.Source, reader *lines.Reader, sink lines.Sink, failing func(error))
}

// Enforcer makes CPU requests so. It never blocks; the newest targets replace those not begun.
type Enforcer interface {
	Enforce(targets []enforce.Target)
}

// Records publishes on the bus. It never blocks.
type Records interface {
	Sample(s bus.Sample)
	// Hurry is Sample for what others wait for.
	Hurry(s bus.Sample)
	Load(l bus.NodeLoad)
	Forget(pod growth.PodUID)
}

// Diary tells people, on the pod. It never blocks.
type Diary interface {
	Event(pod growth.PodRef, warning bool, reason, message string)
	Annotate(pod growth.PodRef, name, value string)
}

// Memory keeps what a restarted coordinator needs, on the node itself. It never blocks; the newest replaces what is not
// written yet.
type Memory interface {
	Keep(recall.Memory)
}

// Watcher follows the bus.
type Watcher interface {
	Watch(ctx context.Context, prefix string) <-chan bus.Batch
}

// Ports are everything the loop acts through.
type Ports struct {
	Sockets  Sockets
	Usages   Usages
	Logs     Logs
	Files    Files
	Enforcer Enforcer
	Records  Records
	Diary    Diary
	Memory   Memory
}
