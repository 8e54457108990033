package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// Effects are what the caller must do after a step, in the order of the fields. The next step does not depend on their
// results, which the caller reports as events.
type Effects struct {
	Log    []LogEntry
	Counts Counts

	// Close and Open are names of slots. Open lists all slots that should be open, including those that are open
	// already. The caller reports opened slots with SlotsOpened.
	Close []string
	Open  []string
	// Leaving are slots of Open that have served another pod, with its UID. Such a slot must not open before that pod has no processes.
	Leaving map[string]growth.PodUID
	// Configs and Duties are sent to the job of a slot, as soon as it is connected. A newer one replaces an older one
	// that has not been sent. Duties end those of a coordinator of an earlier release.
	Configs []SlotConfig
	Duties  []SlotDuty
	// Stops are sent like Configs. Saves are sent to the connections that a slot has now, and repeated until they are answered.
	Stops []SlotStop
	Saves []SlotSave
	// SignalSaves are for jobs that save by a signal, each once.
	SignalSaves []SignalSave
	// Freezes are for paused jobs without the shim.
	Freezes []ContainerFreeze

	// Turns replaces the division of the GPUs' time. Nil keeps it.
	Turns *TurnPlan

	// Unfollow stops and Follow starts reading a pod's log or file.
	Unfollow []growth.PodUID
	Follow   []Follow

	// Resizes replace all earlier resizes that have not started. Nil keeps these.
	Resizes []Resize
	// MemoryResizes are made independently of these.
	MemoryResizes []MemoryResize

	Events      []PodEvent
	Annotations []Annotation

	// Samples are the jobs whose sample must be published (see Node.Sample), Forget those whose sample must be deleted.
	Samples []SampleDue
	Forget  []growth.PodUID
	// Gangs must be published at once, for the other nodes of these jobs.
	Gangs []GangReport
	// Load must be published. Nil means no change.
	Load *bus.NodeLoad
	// Speeds must be published. Nil means no change.
	Speeds *bus.Speeds
	// Newcomers are the shares of jobs that would arrive now, by the GPUs with jobs: they must be written for the device plugin. Nil
	// where no threads of jobs can be limited by them.
	Newcomers map[growth.GPU]growth.Share
	// Learned are programs whose runs on this node must be published for other nodes; one without runs must be deleted.
	Learned []LearnedProgram
	// Recall are jobs that have arrived. What other nodes have learned about their programs must be provided
	// (RunsProvided), whenever it changes, until they are in Forget.
	Recall []Recall
	// Persist is set if Node.Memory must be saved on the node.
	Persist bool

	// Wake is the time for the next Woken event. Each step returns a new value. It is zero before the first job
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

// SlotStop is a stop for the job of a slot.
type SlotStop struct {
	Slot string
	Stop wire.Stop
}

// SlotSave is a request to save for the job of a slot.
type SlotSave struct {
	Slot string
	Save wire.Save
}

// GangReport is what this node says about its ranks of a job on several nodes; Record is nil once it has none.
type GangReport struct {
	Gang   string
	Record *bus.GangRanks
}

// Follow is the log or file to which a job writes its progress.
type Follow struct {
	Pod       growth.PodRef
	Container Container
	Metric    string
	Progress  gpushare.Progress
	// Resumed is set if an earlier coordinator has read the log or file. Reading then starts at its end.
	Resumed bool
}

// Resize is a change of one pod's CPU request.
type Resize struct {
	Pod growth.PodRef
	// From and To are the old and the new request of the whole pod, by kubelet's sum (Pod.Total). Before and Requests are
	// the old and the new requests of the app containers.
	From, To         growth.MilliCPU
	Before, Requests Requests
	// Share is the decided share of the node's pool, from which To follows.
	Share growth.Share
	// Original is the value of the annotation that preserves the pod's original requests. It is empty if the pod has
	// the annotation.
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

// SampleDue is a job whose sample must be published. An urgent sample ignores the minimum time between two writes.
type SampleDue struct {
	Pod    growth.PodUID
	Urgent bool
}

// LearnedProgram has the last runs of a program on this node.
type LearnedProgram struct {
	Program programs.ID
	Runs    []programs.Run
}

// Recall is a job with its program.
type Recall struct {
	Pod     growth.PodRef
	Program programs.ID
}

// Counts are increments of counters.
type Counts struct {
	// Reports counts accepted reports, NotFinite reports of metrics that are not finite, and BadAcks acknowledgements
	// of configs that were never sent.
	Reports, NotFinite, BadAcks int
	// Resizes are the results of resizes: verified, unverified, failed, conflict, gone or refused.
	Resizes []string
	// Trials are the results of trials of pairs: faster, slower or unmeasured. TrialLoss is what they cost a job that was
	// slower than in turns.
	Trials    []string
	TrialLoss growth.Seconds
}

// Level is the severity of a log entry.
type Level int

// The levels of log entries.
const (
	Debug Level = iota
	Info
	Warn
)

// LogEntry is one log entry.
type LogEntry struct {
	Level   Level
	Message string
	// Fields alternate between keys and values, as in log/slog.
	Fields []any
}
