package bus

import (
	"encoding/json"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/elastic"
	"github.com/trellis-gpu/trellis/growth/goodput"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/halt"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/save"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// NodeGPUs is a node's inventory, published by its device plugin.
type NodeGPUs struct {
	Header
	// Unit is the memory that one device id stands for.
	Unit growth.MiB `json:"unitMiB"`
	// Resource is the extended resource of the devices.
	Resource string `json:"resource"`
	// Emulated means that there is no driver for these GPUs. Each output with the GPUs shows it.
	Emulated bool `json:"emulated,omitempty"`
	// Computes means that jobs do the work of each emulated GPU on a core that it owns. The time of such GPUs can be divided.
	Computes bool `json:"computes,omitempty"`
	// MPS means that the jobs of a GPU are clients of one server of NVIDIA's Multi-Process Service.
	MPS bool `json:"mps,omitempty"`
	// Unheard means that kubelet is not connected to the device plugin, because one of them has just started. kubelet
	// would refuse a pod that is bound to the node now, or allocate another GPU than planned.
	Unheard bool  `json:"unheard,omitempty"`
	GPUs    []GPU `json:"gpus"`
}

// GPU is one device.
type GPU struct {
	UUID    growth.GPU `json:"uuid"`
	Model   string     `json:"model"`
	Memory  growth.MiB `json:"memoryMiB"`
	Healthy bool       `json:"healthy"`
}

// Reservation is GPU memory that the extender has planned for a pod, until kubelet allocates it.
type Reservation struct {
	Header
	Pod growth.PodRef `json:"pod"`
	// Created is the pod's creation time: kubelet admits a node's pods in that order.
	Created time.Time `json:"created"`
	// GPUs is the share of the whole pod.
	GPUs []growth.GPUShare `json:"gpus"`
	// Containers is the same share by container, in the order of the pod.
	Containers []ContainerRequest `json:"containers"`
	// Held is set if the pod runs on another node, and its job moves to this one: the memory is for the pod that continues the
	// job. It is empty once that pod has a reservation.
	Held bool `json:"held,omitempty"`
}

// Epoch is the last pod with a new reservation on a GPU. Its revision is a fencing token: a decision about the GPU is
// valid unless the record was written after the revision that the decision is based on.
type Epoch struct {
	Header
	Pod growth.PodRef `json:"pod"`
}

// ContainerRequest is the number of units that one container requests from kubelet.
type ContainerRequest struct {
	Name  string `json:"name"`
	Units int    `json:"units"`
}

// Allocation is the GPU memory that kubelet has allocated to a pod.
type Allocation struct {
	Header
	Pod        growth.PodRef         `json:"pod"`
	Containers []ContainerAllocation `json:"containers"`
}

// ContainerAllocation is the part of one container.
type ContainerAllocation struct {
	Name string            `json:"name"`
	GPUs []growth.GPUShare `json:"gpus"`
	IDs  []string          `json:"ids"`
	// Slot is the name of the folder that is mounted into the container: <StateDir>/slots/<Slot>.
	Slot string `json:"slot"`
}

// GPUs sums the allocation by GPU, in order of first appearance.
func (a Allocation) GPUs() []growth.GPUShare {
	var sum []growth.GPUShare
	for _, c := range a.Containers {
	next:
		for _, share := range c.GPUs {
			for i := range sum {
				if sum[i].GPU == share.GPU {
					sum[i].Memory += share.Memory
					continue next
				}
			}
			sum = append(sum, share)
		}
	}
	return sum
}

// Refusal is a pod that kubelet has refused. It is written before the pod is deleted, and removed after it is
// recreated.
type Refusal struct {
	Header
	Ref growth.PodRef `json:"pod"`
	// Again is the pod to create, as JSON for the API server.
	Again json.RawMessage `json:"again"`
	// Reason and Message are kubelet's, from the status of the refused pod.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Move is the move of a job to another node. Its key names the pod that moves.
type Move struct {
	Header
	Pod  growth.PodRef `json:"pod"`
	Move move.Record   `json:"move"`
}

// MovedJob is the past moves of a job. Its key names the job: see move.Identity.Job.
type MovedJob struct {
	Header
	// Pod is the job's pod when the record was written, and Written is when.
	Pod     growth.PodRef `json:"pod"`
	Written time.Time     `json:"written"`
	// Kind identifies jobs of one program, whose moves take about as long; empty if it is unknown.
	Kind interference.Kind `json:"kind,omitempty"`
	move.History
}

// GangRanks is what a node says about its ranks of a job on several nodes, while the job is to stop or to save. The node with
// the lowest name among those with ranks leads the job: all others follow its order.
type GangRanks struct {
	Header
	Ranks []halt.Rank `json:"ranks"`
	// Pause is set while the user has paused one of the node's pods, Save is the open request of one of them; empty if none is.
	Pause bool   `json:"pause,omitempty"`
	Save  string `json:"save,omitempty"`
	// Order is the last order to the processes of the node.
	Order wire.Stop `json:"order"`
	// Part is what the node's ranks have saved for the last request; nil while answers are missing.
	Part *save.Part `json:"part,omitempty"`
}

// NodeLoad is the load of a node, published by its coordinator.
type NodeLoad struct {
	Header
	// CPUPool is the CPU that the jobs of the node share.
	CPUPool growth.MilliCPU `json:"cpuPoolMilli"`
	// CPUUsed is the CPU that the jobs use.
	CPUUsed growth.MilliCPU `json:"cpuUsedMilli"`
	// Pressure is the pressure of the whole node over the last interval; absent without PSI.
	Pressure *Pressure `json:"pressure,omitempty"`
	// LoaderBudget is the number of cores for data-loader workers: those that training processes do not use.
	LoaderBudget int `json:"loaderBudget"`
	// Policy is the name of the node's policy.
	Policy string `json:"policy"`
}

// MaxSpeeds bounds the measurements of Speeds.
const MaxSpeeds = 64

// Speeds are the speeds of jobs that compute on one GPU at the same time, as a node has measured them. Readers ignore
// measurements that are not valid, and all after the first MaxSpeeds.
type Speeds struct {
	Header
	Sets []interference.Measurement `json:"sets"`
}

// InterferenceModel is the name of the model that Interference records.
const InterferenceModel = "interference"

// Interference is what the tuner has learned about jobs that share GPUs.
type Interference struct {
	Header
	Learned interference.State `json:"learned"`
	// Through is the revision up to which all Speeds are part of Learned.
	Through Revision `json:"through"`
}

// PeaksModel is the name of the model that Peaks records.
const PeaksModel = "peaks"

// Peaks are the jobs from which the tuner predicts what others use at most, the newest last.
type Peaks struct {
	Header
	Runs []peaks.Run `json:"runs"`
}

// ProgramRuns are the last runs of a program on one node, published by its coordinator. Readers ignore runs that are not valid,
// and all after the first programs.MaxRunsPerNode.
type ProgramRuns struct {
	Header
	Runs []programs.Run `json:"runs"`
}

// ProgramModel is what the tuner has learned of a program from all nodes.
type ProgramModel struct {
	Header
	programs.Model
}

// Sample is the state of a job, published by its coordinator.
type Sample struct {
	Header
	Pod  growth.PodRef   `json:"pod"`
	Node growth.NodeName `json:"node"`
	GPUs []growth.GPU    `json:"gpus"`

	// Progress, from the job's own reports.
	Step       int64   `json:"step"`
	Epoch      int64   `json:"epoch,omitempty"`
	TotalSteps int64   `json:"totalSteps,omitempty"`
	Metric     string  `json:"metric,omitempty"`
	Value      float64 `json:"value,omitempty"`
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
	// Share is the decided fraction of time for which the job has its GPUs. Paused is set if the job waits at other times.
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
}

// ETA is when a job is expected to end by the shares that the policy is expected to give it, if no further job arrives.
type ETA struct {
	gpushare.ETA
	// Remaining is the work to the job's end.
	Remaining remaining.Estimate `json:"remaining"`
}

// Deadline is when a job's user needs its result, and whether it is expected by then.
type Deadline struct {
	At     time.Time       `json:"at"`
	Status deadline.Status `json:"status"`
	// LateBy is by how many seconds the job is expected to end after the deadline; negative before it. Absent while that is
	// unknown, and once the status is final.
	LateBy *deadline.Degree `json:"lateBySeconds,omitempty"`
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

// Width is a recommended number of workers. Changes counts the recommendations so far.
type Width struct {
	elastic.Recommendation
	Changes int `json:"changes"`
}

// WidthChange is the last change of a job's number of workers. Owner names the object that has the number.
type WidthChange struct {
	Header
	Owner  string         `json:"owner"`
	Change elastic.Change `json:"change"`
}

// Advice is what the tuner recommends for a job. The coordinator delivers it and observes the effect.
type Advice struct {
	Header
	// Generation increases with each change of what the job is sent.
	Generation int64 `json:"generation"`
	Loaders    *int  `json:"loaders,omitempty"`
	BatchSize  *int  `json:"batchSize,omitempty"`
	// Reason explains Loaders to users, in one sentence, and BatchReason BatchSize.
	Reason      string `json:"reason,omitempty"`
	BatchReason string `json:"batchReason,omitempty"`
	// Resources is what the job should request; nil if nothing is known. It is no part of Generation.
	Resources *peaks.Recommendation `json:"resources,omitempty"`
	// Width is the number of workers that the job should have; nil if its present one should stay. It is no part of Generation.
	Width *Width `json:"width,omitempty"`
	// Limit explains to users what keeps Loaders from being larger, and what they can do. It is empty if nothing does.
	Limit string `json:"limit,omitempty"`
}
