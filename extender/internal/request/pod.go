package request

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Pod is a pod that requests a share of a GPU.
type Pod struct {
	Ref             growth.PodRef
	ResourceVersion string
	// Created is the creation time. Kubelet admits the pods of a node in that order.
	Created time.Time
	// Node is empty while the pod is not bound. GPUs are the GPUs in its annotation.
	Node growth.NodeName
	GPUs []growth.GPU
	// Deleting is true from the request to delete the pod until it is gone.
	Deleting bool
	// Ended is true after the pod has succeeded or failed: kubelet has freed its devices.
	Ended    bool
	Request  placement.Request
	Priority int32
	// Labels are matched by disruption budgets.
	Labels map[string]string
	// Memory is the request of all containers that run for the lifetime of the pod, as is the CPU of Request.
	Memory growth.MiB
	// Move is the node to which the user asks to move the job, gpushare.MoveAnywhere, or empty.
	Move string
	// Gang is the job with which the pod is placed; zero for a pod that is placed alone.
	Gang Gang
	// Owner, Index and Carries are those of its Identity.
	Owner, Index, Carries string
	// Continues is the pod whose job this one continues after a move: what is reserved for that pod on the target is for this
	// one. It is empty unless the scheduler sets it.
	Continues growth.PodUID
	// Leaves is set if what is reserved for the pod is for the one that will continue its job. It is false unless the scheduler
	// sets it.
	Leaves bool
	// CannotSave is set if the user says that the job saves no checkpoint, Gated while the pod has a scheduling gate.
	CannotSave, Gated bool
	// Elastic is set if Trellis may change the job's number of workers.
	Elastic bool
	// Invalid is what is invalid about the annotations, in a sentence for the user.
	Invalid error
}

// Identity returns what identifies the pod for a move.
func (p Pod) Identity() move.Identity {
	return move.Identity{UID: p.Ref.UID, Namespace: p.Ref.Namespace, Name: p.Ref.Name, Owner: p.Owner, Index: p.Index, Carries: p.Carries}
}

// Read reads a pod. It returns false for a pod that requests no share of the extended resource.
func Read(pod *corev1.Pod, resource corev1.ResourceName) (Pod, bool) {
	containers := limits(pod, resource)
	if len(containers) == 0 && !gpushare.RequestsShare(pod.Annotations) {
		return Pod{}, false
	}
	p := Pod{
		Ref:             Ref(pod),
		ResourceVersion: pod.ResourceVersion,
		Created:         pod.CreationTimestamp.Time,
		Node:            growth.NodeName(pod.Spec.NodeName),
		GPUs:            gpushare.ParseGPUs(pod.Annotations[gpushare.GPUAnnotation]),
		Ended:           pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Deleting:        pod.DeletionTimestamp != nil,
		Labels:          pod.Labels,
		Move:            pod.Annotations[gpushare.MoveAnnotation],
		Gang:            gangOf(pod),
		Owner:           Identity(pod).Owner,
		Index:           index(pod),
		Carries:         carries(pod),
		Gated:           len(pod.Spec.SchedulingGates) > 0,
	}
	if pod.Spec.Priority != nil {
		p.Priority = *pod.Spec.Priority
	}
	cpu, memory := Lasting(pod)
	p.Memory = memory
	spec, err := Spec(pod)
	// Without the annotation the memory is 0, and the containers' limits are the request.
	p.Request = placement.Request{Memory: spec.Memory, Count: max(1, spec.Count), CPU: cpu, Containers: containers}
	p.Elastic = spec.Elastic.Valid() && spec.Allows(gpushare.TuneWorkers)
	p.CannotSave = spec.Checkpoint == gpushare.CheckpointNone
	p.Invalid = err
	return p, true
}

// limits returns the containers that get devices, in the order in which kubelet allocates.
func limits(pod *corev1.Pod, resource corev1.ResourceName) []placement.Container {
	var containers []placement.Container
	add := func(c *corev1.Container, role placement.Role) {
		if units := c.Resources.Limits[resource]; units.Sign() > 0 {
			containers = append(containers, placement.Container{Name: c.Name, Units: bounded(units.Value()), Role: role})
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if sidecar(c) {
			add(c, placement.Sidecar)
			continue
		}
		add(c, placement.Init)
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i], placement.App)
	}
	return containers
}

// sidecar reports whether an init container runs for the lifetime of the pod.
func sidecar(init *corev1.Container) bool {
	return init.RestartPolicy != nil && *init.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Lasting sums the requests of the containers that run for the lifetime of the pod.
func Lasting(pod *corev1.Pod) (cpu growth.MilliCPU, memory growth.MiB) {
	add := func(c *corev1.Container) {
		cpu += growth.MilliCPU(c.Resources.Requests.Cpu().MilliValue())
		memory += growth.MiB(c.Resources.Requests.Memory().Value() >> 20)
	}
	for i := range pod.Spec.InitContainers {
		if sidecar(&pod.Spec.InitContainers[i]) {
			add(&pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return cpu, memory
}

// bounded keeps sums of units, and their memory, within an int64 for any limit.
func bounded(units int64) int { return int(min(units, 1<<24)) }

// Annotation formats the GPUs of shares as the annotation of a Binding.
func Annotation(shares []growth.GPUShare) string {
	gpus := make([]growth.GPU, len(shares))
	for i, share := range shares {
		gpus[i] = share.GPU
	}
	return gpushare.FormatGPUs(gpus)
}
