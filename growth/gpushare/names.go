package gpushare

// Annotations that a user sets on a pod.
const (
	// MemoryAnnotation asks for GPU memory: a Kubernetes quantity ("8Gi", "500Mi") or a bare number of GiB ("8").
	MemoryAnnotation = "gpushare/gpu-mem"
	// CountAnnotation asks for that memory on each of so many GPUs of one node. Default 1.
	CountAnnotation = "gpushare/gpu-count"
	// CoresAnnotation asks for per cent of a GPU's compute, 1..100.
	CoresAnnotation = "gpushare/gpu-cores"
	// MetricAnnotation names the evaluation function and its direction: "loss:min", "accuracy:max".
	MetricAnnotation = "gpushare/metric"
	// ProgressAnnotation says where progress comes from: "socket", "log:<regexp>" or "file:<path>".
	ProgressAnnotation = "gpushare/progress"
	// TuneAnnotation lists what may be changed while the job runs: "loaders", "batch-size", "cpu", or "none".
	TuneAnnotation = "gpushare/tune"
)

// What an operator sets on a node, and what the device plugin tells about it there.
const (
	// CordonAnnotation lists GPUs of the node, comma-separated, that take no new jobs. What runs there is left alone.
	CordonAnnotation = "gpushare/cordon"
	// ModelLabel is the model of the node's GPUs, "mixed" where they differ: "NVIDIA-A100-SXM4-80GB".
	ModelLabel = "gpushare/gpu-model"
	// MemoryLabel is the memory of the node's smallest GPU in MiB.
	MemoryLabel = "gpushare/gpu-memory"
	// CountLabel is how many GPUs the node has, each MIG instance counted as one.
	CountLabel = "gpushare/gpu-count"
	// EmulatedLabel is "true" where no driver stands behind the GPUs.
	EmulatedLabel = "gpushare/gpu-emulated"
	// DriverLabel is the driver's version.
	DriverLabel = "gpushare/gpu-driver"
	// MIGLabel is "true" where GPUs are cut into MIG instances, NVLinkLabel where GPUs reach one another over NVLink.
	MIGLabel    = "gpushare/gpu-mig"
	NVLinkLabel = "gpushare/gpu-nvlink"
)

// Annotations and labels that Trellis writes back.
const (
	// GPUAnnotation lists the GPUs a pod was placed on, comma-separated. The Binding carries it.
	GPUAnnotation = "gpushare/gpu"
	// CategoryAnnotation is the job's present category.
	CategoryAnnotation = "gpushare/category"
	// RequestAnnotation keeps the CPU request a pod was created with, since resizing it overwrites the spec's.
	RequestAnnotation = "gpushare/cpu-request"
	// RefusalsAnnotation counts how often kubelet has refused a pod that Trellis has submitted again.
	RefusalsAnnotation = "gpushare/refusals"
	// NodeLabel is "true" on nodes whose GPUs are shared.
	NodeLabel = "gpushare"
)

const (
	// Resource is the extended resource that kubelet accounts GPU memory in, one device a unit.
	Resource = "gpushare/gpu-mem"
	// SchedulerName is the profile that asks the extender. Admission sets it on pods that ask for a share.
	SchedulerName = "trellis"
	// MountPath is where a job's container finds its socket and the shim.
	MountPath = "/run/gpushare"
	// SocketName is the coordinator's socket inside MountPath.
	SocketName = "gpushare.sock"
	// StateDir is the node's folder that the device plugin and the coordinator share: one slot folder per container
	// below SlotsDir, mounted into that container alone at MountPath.
	StateDir = "/var/lib/trellis"
	// SlotsDir is the folder of slots below StateDir.
	SlotsDir = "slots"
)
