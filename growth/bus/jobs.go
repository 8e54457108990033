package bus

import (
	"encoding/json"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Sample is the state of a job, published by its coordinator.
type Sample struct {
	Header
	Pod  growth.PodRef   `json:"pod"`
	Node growth.NodeName `json:"node"`
	GPUs []growth.GPU    `json:"gpus"`

	// Progress, from the job's own reports.
	Step       int64 `json:"step"`
	Epoch      int64 `json:"epoch,omitempty"`
	TotalSteps int64 `json:"totalSteps,omitempty"`
	// Done is the number of steps since the job's start, of a job that numbers its Step per epoch; absent for others.
	Done   int64   `json:"stepsDone,omitempty"`
	Metric string  `json:"metric,omitempty"`
	Value  float64 `json:"value,omitempty"`
	// Reported is false until the first report. A job without a report is never Converged.
	Reported bool `json:"reported"`

	// The result of the classifier.
	Growth   growth.Growth   `json:"growth"`
	Category growth.Category `json:"category"`
	// State is the private state of the decisions about the job, for a restart of the coordinator. It is JSON with a
	// version of its own; only package node reads it.
	State json.RawMessage `json:"state,omitempty"`

	// CPU: the usage of the job, its decided share, its current request, and the weight read back from its cgroup.
	CPUUsed    growth.MilliCPU `json:"cpuUsedMilli"`
	Share      growth.Share    `json:"share"`
	CPURequest growth.MilliCPU `json:"cpuRequestMilli"`
	Weight     int64           `json:"weight,omitempty"`
	MemoryUsed growth.MiB      `json:"memoryUsedMiB,omitempty"`
	// Profile is what the job has used at most over its life; Model is what the job says about what it trains.
	Profile *peaks.Profile `json:"profile,omitempty"`
	Model   *peaks.Model   `json:"model,omitempty"`
	// GPUMemory is what the job has used on each GPU at most, next to what it requested; absent while its use is unknown.
	GPUMemory *GPUMemory `json:"gpuMemory,omitempty"`
	// Elastic are the numbers of workers that the user permits; nil for a job of a fixed number.
	Elastic *elastic.Range `json:"elastic,omitempty"`
	// SharedMemory is the pod's /dev/shm; absent if its size or use is unknown.
	SharedMemory *SharedMemory `json:"sharedMemory,omitempty"`
	// BlockIO and NetworkIO are bytes per second over the last interval.
	BlockIO   growth.PerSecond `json:"blockIOBytesPerSecond,omitempty"`
	NetworkIO growth.PerSecond `json:"networkIOBytesPerSecond,omitempty"`
	// ExclusiveCores is the number of cores that kubelet's CPU manager has given to the pod alone. They are not in the
	// node's LoaderBudget.
	ExclusiveCores int `json:"exclusiveCores,omitempty"`
	// Pressure is the pressure of the pod over the last interval; absent without PSI.
	Pressure *Pressure `json:"pressure,omitempty"`

	// Throughput, the time of a step and its part for loading: means over the last interval.
	SamplesPerSecond growth.PerSecond `json:"samplesPerSecond,omitempty"`
	StepSeconds      growth.Seconds   `json:"stepSeconds,omitempty"`
	LoadSeconds      growth.Seconds   `json:"loadSeconds,omitempty"`
	// BatchSize and Loaders are the values of each process.
	BatchSize *int `json:"batchSize,omitempty"`
	Loaders   *int `json:"loaders,omitempty"`
	// Ranks is the number of the pod's processes that train and report, WorldSize that of the whole job. They are absent
	// for a job with one process.
	Ranks     int `json:"ranks,omitempty"`
	WorldSize int `json:"worldSize,omitempty"`
	// Gang is equal for the pods of one job, on all nodes. It is empty for a job with one pod.
	Gang string `json:"gang,omitempty"`
	// Paused is empty unless the user has paused the job.
	Paused Pause `json:"paused,omitempty"`
	// Checkpoint is the last checkpoint that the job has saved and reported.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// Batch is what is known about the job's batch size; absent for a job that declares no range.
	Batch *goodput.State `json:"batch,omitempty"`
	// ETA is when the job is expected to end; absent while that is unknown.
	ETA *ETA `json:"eta,omitempty"`
	// Usable is the most that the job can use at once of the resource that its node divides, in thousandths of a core or of a
	// GPU; 0 if it is unknown.
	Usable growth.MilliCPU `json:"usableMilli,omitempty"`
	// Deadline is the status of the deadline of the job's user; absent if there is none.
	Deadline *Deadline `json:"deadline,omitempty"`
	// Kind identifies jobs that interfere alike; empty if the job's program is unknown.
	Kind interference.Kind `json:"kind,omitempty"`
	// Program identifies the job's program on all nodes; absent if it is unknown.
	Program programs.ID `json:"program,omitzero"`
	// GPUTime is absent where the time of GPUs is not divided.
	GPUTime *GPUTime `json:"gpuTime,omitempty"`
	// Duty is the fraction of time in which the job may compute, by a coordinator of an earlier release.
	Duty *growth.Share `json:"duty,omitempty"`

	// Generation is that of the newest config sent, Applied that of the newest acknowledged.
	Generation int64 `json:"generation,omitempty"`
	Applied    int64 `json:"applied,omitempty"`
	// Tunable lists what the user permits Trellis to change.
	Tunable []string `json:"tunable,omitempty"`
}

// Steps returns the steps that the job has made since its start.
func (s Sample) Steps() int64 { return max(s.Step, s.Done) }

// Checkpoint is a file with the state of a job.
type Checkpoint struct {
	// Path is that in the container of the job.
	Path   string    `json:"path"`
	SHA256 string    `json:"sha256"`
	Step   int64     `json:"step"`
	At     time.Time `json:"at"`
}

// Pause is what a paused job has released.
type Pause string

// All values of a Pause.
const (
	// PauseComplete means that the processes of the job wait between two steps, without GPU and CPU.
	PauseComplete Pause = "complete"
	// PauseCPU means that the processes cannot be stopped, and have the least CPU request.
	PauseCPU Pause = "cpu"
)

// GPUTime is a job's part of the time of its GPUs.
type GPUTime struct {
	// Share is the fraction of time for which the job has its GPUs: in turns what is decided, and its equal part while the jobs there
	// compute at the same time. Paused is set if the job waits at other times.
	Share  growth.Share `json:"share"`
	Paused bool         `json:"paused,omitempty"`
	// Held is the time in which the job has computed, Waited the time in which it was ready and waited for its turn, both
	// since the coordinator started. Alone is the part of Held in which no other job of its GPUs computed.
	Held   growth.Seconds `json:"heldSeconds"`
	Waited growth.Seconds `json:"waitedSeconds"`
	Alone  growth.Seconds `json:"aloneSeconds"`
	// Kept is the time in which the job waited for data while its GPUs were kept for it. It counts in its share, but is no part
	// of Held.
	Kept growth.Seconds `json:"keptSeconds,omitempty"`
	// Work is the work that the job was charged, in GPU-seconds.
	Work growth.Work `json:"workGPUSeconds"`
	// HeldShare and WaitedShare are the fractions of the last interval in which the job computed, and waited for its turn.
	// They are assumptions unless Measured is set: the job is connected for turns.
	HeldShare   growth.Share `json:"heldShare"`
	WaitedShare growth.Share `json:"waitedShare"`
	Measured    bool         `json:"measured,omitempty"`
	// InSets is the part of Held in which the job held the turn together with others, since it was first seen. SetSpeed is its
	// measured speed with those that it holds the turn with at present, relative to computing alone; 0 without such jobs.
	InSets   growth.Seconds `json:"inSetsSeconds,omitempty"`
	SetSpeed float64        `json:"setSpeed,omitempty"`
	// Pace is the job's expected work per second on each of its GPUs, relative to computing alone: Share, or more next to jobs that
	// leave it gaps. It is absent in samples of earlier releases.
	Pace growth.Share `json:"pace,omitempty"`
}

// ETA is when a job is expected to end, if no further job arrives. By which shares depends on the policy: see docs/policies.md.
type ETA struct {
	gpushare.ETA
	// Left is the time from the sample to Likely, in seconds; absent in samples of earlier releases. See Sample.Left.
	Left *growth.Seconds `json:"leftSeconds,omitempty"`
	// Remaining is the work to the job's end.
	Remaining remaining.Estimate `json:"remaining"`
}

// Deadline is when a job's user needs its result, and whether it is expected by then.
type Deadline struct {
	At time.Time `json:"at"`
	// Left is the time from the sample to At, in seconds, negative after it; absent in samples of earlier releases. See LeftAt.
	Left   *growth.Seconds `json:"leftSeconds,omitempty"`
	Status deadline.Status `json:"status"`
	// ToTarget is the work until the job's target, of a job that is expected to reach it before its end: its result is there then.
	ToTarget *remaining.Estimate `json:"toTarget,omitempty"`
	// LateBy is by how many seconds the job is expected to end after the deadline; negative before it. Absent while that is
	// unknown, and once the status is final.
	LateBy *deadline.Degree `json:"lateBySeconds,omitempty"`
	// GiveWay is what would have to happen for a job at risk to be in time. Absent while that is unknown.
	GiveWay *GiveWay `json:"giveWay,omitempty"`
}

// GiveWay is what would have to happen on its node for a job to end before its deadline.
type GiveWay struct {
	// Lacking is the work that the slack does not suffice for; 0 if it does.
	Lacking growth.Work `json:"lacking"`
	Unit    growth.Unit `json:"unit,omitempty"`
	// Jobs would have to give way, all of them. Without any, no jobs of the node can give enough.
	Jobs []Giving `json:"jobs,omitempty"`
	// Pause is set if they would have to be paused until the deadline. Otherwise each of them would end later than under fair sharing
	// by 5 % of its time at most.
	Pause bool `json:"pause,omitempty"`
}

// Giving is a job that would have to give way.
type Giving struct {
	Pod  growth.PodRef `json:"pod"`
	Work growth.Work   `json:"work"`
	// Part is Work per second until the deadline, in thousandths of a core or of a GPU.
	Part growth.MilliCPU `json:"partMilli"`
}

// GPUMemory is the memory that a job has used on each GPU at most.
type GPUMemory struct {
	Peak growth.MiB `json:"peakMiB"`
	// Requested is 0 for a job whose GPUs Trellis has not allocated.
	Requested growth.MiB `json:"requestedMiB,omitempty"`
	// Measured is set if the driver has said so. Otherwise Peak is what the job's framework has reserved, with an allowance for the
	// driver's context.
	Measured bool `json:"measured,omitempty"`
}

// SharedMemory is the size of a pod's /dev/shm, and the shared memory that the pod uses: there, in other volumes of medium
// Memory, and anonymously.
type SharedMemory struct {
	Size growth.MiB `json:"sizeMiB"`
	Used growth.MiB `json:"usedMiB"`
}

// Pressure is the fraction of time in which some task waited for a resource (the kernel's PSI, "some").
type Pressure struct {
	CPU    growth.Share `json:"cpu"`
	Memory growth.Share `json:"memory"`
	IO     growth.Share `json:"io"`
}
