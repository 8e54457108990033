package gpushare

// Annotations that a user sets on a pod.
const (
	// MemoryAnnotation requests GPU memory: a Kubernetes quantity ("8Gi", "500Mi") or a bare number of GiB ("8").
	MemoryAnnotation = "gpushare/gpu-mem"
	// CountAnnotation requests the memory on each of several GPUs of one node. Default 1.
	CountAnnotation = "gpushare/gpu-count"
	// CoresAnnotation requests a percentage of a GPU's compute, 1..100.
	CoresAnnotation = "gpushare/gpu-cores"
	// MetricAnnotation names the evaluation function and its direction: "loss:min", "accuracy:max".
	MetricAnnotation = "gpushare/metric"
	// TargetAnnotation is the value of that metric with which the user is satisfied: "loss<=0.05", "accuracy>=0.95".
	TargetAnnotation = "gpushare/target"
	// PriorityAnnotation is the weight of the job in fair sharing, 0.1..10. Default by the value of the pod's PriorityClass.
	PriorityAnnotation = "gpushare/priority"
	// DeadlineAnnotation is when the user needs the result: a duration after the pod's creation ("6h", "90m") or a time
	// ("2026-05-01T18:00:00Z").
	DeadlineAnnotation = "gpushare/deadline"
	// ElasticAnnotation is the range of numbers of workers with which the job can run: "1-4".
	ElasticAnnotation = "gpushare/elastic"
	// GangAnnotation names the job of several pods that a pod without an owner belongs to, and the number of them: "bert/4".
	// "none" on a pod with an owner: its pods are placed one by one.
	GangAnnotation = "gpushare/gang"
	// ProgressAnnotation is the source of progress reports: "socket", "log:<regexp>" or "file:<path>".
	ProgressAnnotation = "gpushare/progress"
	// TuneAnnotation lists the settings that Trellis may change while the job runs: "cpu", "loaders", "batch-size",
	// "gpu-time", "resources", "workers", or "none".
	TuneAnnotation = "gpushare/tune"
	// CheckpointAnnotation is how the job saves on request: "socket" (default: by the function that it registers with the shim),
	// "signal:SIGUSR1" or "signal:SIGUSR1:PROCESS" (it writes a file when it receives the signal), or "none".
	CheckpointAnnotation = "gpushare/checkpoint"
	// CheckpointPathAnnotation is the file that a job with "signal:SIGUSR1" writes: a path in the container, on a volume.
	CheckpointPathAnnotation = "gpushare/checkpoint-path"
	// CheckpointVolumeAnnotation set to "shared" says that all nodes read the same files at the path of the checkpoint, where Trellis
	// cannot know that: an inline CSI volume, a folder that each node mounts, or what the container mounts itself.
	CheckpointVolumeAnnotation = "gpushare/checkpoint-volume"
	// PausedAnnotation set to "true" on a running pod releases its turns of the GPU and its CPU until it is removed. The pod
	// keeps its memory.
	PausedAnnotation = "gpushare/paused"
	// SaveAnnotation requests a checkpoint of a running pod. Its value identifies the request: a time, or a name.
	SaveAnnotation = "gpushare/save"
	// MoveAnnotation on a running pod asks to move its job: the name of a node, or "any" for any other one. It is removed once
	// the move has ended.
	MoveAnnotation = "gpushare/move"
)

// Annotations and labels of a node.
const (
	// CordonAnnotation lists GPUs of the node, comma-separated, that accept no new jobs. Running jobs stay. An operator
	// sets it; the labels below are set by the device plugin.
	CordonAnnotation = "gpushare/cordon"
	// ModelLabel is the model of the node's GPUs, "mixed" if they differ: "NVIDIA-A100-SXM4-80GB".
	ModelLabel = "gpushare/gpu-model"
	// MemoryLabel is the memory of the node's smallest GPU in MiB.
	MemoryLabel = "gpushare/gpu-memory"
	// CountLabel is the number of GPUs of the node. Each MIG instance counts as one.
	CountLabel = "gpushare/gpu-count"
	// EmulatedLabel is "true" if the GPUs are emulated.
	EmulatedLabel = "gpushare/gpu-emulated"
	// DriverLabel is the version of the driver.
	DriverLabel = "gpushare/gpu-driver"
	// MIGLabel is "true" if GPUs are partitioned into MIG instances.
	MIGLabel = "gpushare/gpu-mig"
	// NVLinkLabel is "true" if GPUs are connected by NVLink.
	NVLinkLabel = "gpushare/gpu-nvlink"
)

// Annotations and labels that Trellis sets.
const (
	// GPUAnnotation lists the GPUs of a pod, comma-separated. The extender sets it with the Binding.
	GPUAnnotation = "gpushare/gpu"
	// CategoryAnnotation is the job's present category.
	CategoryAnnotation = "gpushare/category"
	// GPUShareAnnotation is the part of the time of its GPUs that the job has, such as "62%".
	GPUShareAnnotation = "gpushare/gpu-share"
	// ETAAnnotation is when the job is expected to end, and the interval in which 80 % of such jobs end:
	// "2026-05-01T12:00:00Z 2026-05-01T11:50:00Z/2026-05-01T12:20:00Z".
	ETAAnnotation = "gpushare/eta"
	// RequestAnnotation is the CPU request with which the pod was created. A resize overwrites the one in the spec.
	RequestAnnotation = "gpushare/cpu-request"
	// SavedAnnotation answers SaveAnnotation: its value, and the checkpoint or the reason why there is none (Saved). A pod that
	// continues a job after a move has the checkpoint that was saved for the move.
	SavedAnnotation = "gpushare/saved"
	// MovingAnnotation is the ID of a move of the pod's job, and whether the pod may be evicted for it, "granted" or
	// "withdrawn", as after a move that has ended early. A pod of a controller that continues the job has "continues".
	MovingAnnotation = "gpushare/moving"
	// MovesAnnotation lists the last moves of the pod's job, one a line, the newest last: when it ended, from, to, state, seconds with
	// their parts, and the reason.
	MovesAnnotation = "gpushare/moves"
	// PlacedAnnotation is the node where the pod has its room, and since when all pods of its gang have.
	PlacedAnnotation = "gpushare/placed"
	// MemoryRequestAnnotation is likewise the memory request with which the pod was created: "train=512Mi".
	MemoryRequestAnnotation = "gpushare/memory-request"
	// RefusalsAnnotation counts how often kubelet rejected the pod and Trellis recreated it.
	RefusalsAnnotation = "gpushare/refusals"
	// AuthorityAnnotation identifies the certificate authority of the bus, on the pods of Trellis itself.
	AuthorityAnnotation = "gpushare/bus-authority"
	// NodeLabel is "true" on nodes with shared GPUs.
	NodeLabel = "gpushare"
)

const (
	// Resource is the extended resource of GPU memory. Each device is one unit.
	Resource = "gpushare/gpu-mem"
	// SchedulerName is the scheduler profile with the extender. The admission policy sets it on pods that request a
	// share.
	SchedulerName = "trellis"
	// FieldManager is the field manager with which the coordinator writes to pods.
	FieldManager = "trellis-coordinator"
	// MountPath is the directory in a job's container with its socket and the shim.
	MountPath = "/run/gpushare"
	// SocketName is the coordinator's socket inside MountPath.
	SocketName = "gpushare.sock"
	// TurnSocketName is the coordinator's socket inside MountPath for GPU turns. It is read at once, the other one once a
	// second.
	TurnSocketName = "turn.sock"
	// StateDir is the directory on the node that the device plugin and the coordinator share. It has one slot directory
	// per container below SlotsDir, which is mounted into that container only, at MountPath.
	StateDir = "/var/lib/trellis"
	// SlotsDir is the directory of slots below StateDir.
	SlotsDir = "slots"
)
