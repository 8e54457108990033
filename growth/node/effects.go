package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Effects is what a caller must do after a step, in the order of the fields. No effect needs a reply before the next
// step.
type Effects struct {
	Log    []LogEntry
	Counts Counts

	// Close and Open are names of slots. Open lists all slots that should be open; an open slot stays as it is.
	// The caller reports success with SlotsOpened.
	Close []string
	Open  []string
	// Configs and Duties go to the job that is connected to a slot, now or later. The newest of each replaces the one
	// before.
	Configs []SlotConfig
	Duties  []SlotDuty

	// Unfollow and Follow stop and start the reading of a pod's log or file.
	Unfollow []growth.PodUID
	Follow   []Follow

	// Resizes replace all earlier ones that have not begun. Nil leaves those as they are.
	Resizes []Resize

	Events      []PodEvent
	Annotations []Annotation

	// Samples are the jobs whose sample should be published (see Node.Sample), Forget those whose sample should be
	// deleted.
	Samples []SampleDue
	Forget  []growth.PodUID
	// Load should be published. Nil means no change.
	Load *bus.NodeLoad
	// Persist means that Node.Memory should be saved on the node.
	Persist bool

	// Wake is the time of the next Woken event, unless a later step changes it. It is zero before the first job
	// arrives.
	Wake time.Time
}

// SlotConfig is a config for the job of a slot.
type SlotConfig struct {
	Slot   string
	Config wire.Config
}

// SlotDuty is a duty for the job of a slot.
type SlotDuty struct {
	Slot string
	Duty wire.Duty
}

// Follow is the log or the file in which a job writes its progress.
type Follow struct {
	Pod       growth.PodRef
	Container Container
	Metric    string
	Progress  gpushare.Progress
	// Resumed means that an earlier coordinator has read the log or file: reading starts at its end.
	Resumed bool
}

// Resize is a change of one pod's CPU request.
type Resize struct {
	Pod growth.PodRef
	// From and To are the requests of the whole pod, Requests the new ones by container.
	From, To growth.MilliCPU
	Requests Requests
	// Share is the part of the node's pool that To is.
	Share growth.Share
	// Original is the value of the annotation with the pod's original requests. It is empty if the pod has the
	// annotation.
	Original string
}

// PodEvent is a Kubernetes event about a pod.
type PodEvent struct {
	Pod     growth.PodRef
	Warning bool
	Reason  string
	Message string
}

// Annotation is an annotation for a pod.
type Annotation struct {
	Pod   growth.PodRef
	Name  string
	Value string
}

// SampleDue is a job whose sample should be published. An urgent one does not wait for the usual gap between two
// writes.
type SampleDue struct {
	Pod    growth.PodUID
	Urgent bool
}

// Counts are increments of counters.
type Counts struct {
	// Reports were accepted. The others were not: NotFinite metrics, and acknowledgements of configs never sent.
	Reports, NotFinite, BadAcks int
	Resizes                     []string // results: verified, unverified, failed, gone, refused
}

// Level is the severity of a log entry.
type Level int

// Levels of log entries.
const (
	Debug Level = iota
	Info
	Warn
)

// LogEntry is a line for the log.
type LogEntry struct {
	Level   Level
	Message string
	// Fields are keys and values in turn.
	Fields []any
}
