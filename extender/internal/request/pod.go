package request

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Pod is a pod that asks for a share of a GPU.
type Pod struct {
	Ref             growth.PodRef
	ResourceVersion string
	// Created is when the user made it: kubelet admits a node's pods in that order.
	Created time.Time
	// Node is where it is bound, empty while it is not. GPUs are those its annotation names.
	Node growth.NodeName
	GPUs []growth.GPU
	// Ended says that it has run to its end: kubelet has taken its devices back.
	Ended   bool
	Request placement.Request
	// Priority is the pod's, Labels are what disruption budgets select it by.
	Priority int32
	Labels   map[string]string
	// CPU and Memory are what it requests of its node beside the GPU, of the containers that stay.
	CPU    growth.MilliCPU
	Memory growth.MiB
	// Invalid says what is wrong with its wishes, in a sentence for the user.
	Invalid error
}

// Read takes a pod apart. It returns false for one that asks for no share of the extended resource.
func Read(pod *corev1.Pod, resource corev1.ResourceName) (Pod, bool) {
	containers := limits(pod, resource)
	if len(containers) == 0 && !gpushare.RequestsShare(pod.Annotations) {
		return Pod{}, false
	}
	p := Pod{
		Ref:             growth.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: growth.PodUID(pod.UID)},
		ResourceVersion: pod.ResourceVersion,
		Created:         pod.CreationTimestamp.Time,
		Node:            growth.NodeName(pod.Spec.NodeName),
		GPUs:            gpushare.ParseGPUs(pod.Annotations[gpushare.GPUAnnotation]),
		Ended:           pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Labels:          pod.Labels,
	}
	if pod.Spec.Priority != nil {
		p.Priority = *pod.Spec.Priority
	}
	p.CPU, p.Memory = requests(pod)
	p.Request = placement.Request{Count: 1, Containers: containers} // by the limits alone
	if gpushare.Unannotated(pod.Annotations) {
		return p, true
	}
	wish, err := gpushare.Parse(pod.Annotations)
	if err != nil {
		p.Invalid = err
	}
	p.Request.Memory, p.Request.Count = wish.Memory, max(1, wish.Count)
	return p, true
}

// limits lists the containers that kubelet will give devices, in its own order.
func limits(pod *corev1.Pod, resource corev1.ResourceName) []placement.Container {
	var containers []placement.Container
	add := func(c *corev1.Container, role placement.Role) {
		if units := c.Resources.Limits[resource]; units.Sign() > 0 {
			containers = append(containers, placement.Container{Name: c.Name, Units: bounded(units.Value()), Role: role})
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if stays(c) {
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

// stays tells a sidecar from an init container that ends.
func stays(init *corev1.Container) bool {
	return init.RestartPolicy != nil && *init.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// requests sums what the containers that stay request of the node.
func requests(pod *corev1.Pod) (cpu growth.MilliCPU, memory growth.MiB) {
	add := func(c *corev1.Container) {
		cpu += growth.MilliCPU(c.Resources.Requests.Cpu().MilliValue())
		memory += growth.MiB(c.Resources.Requests.Memory().Value() >> 20)
	}
	for i := range pod.Spec.InitContainers {
		if stays(&pod.Spec.InitContainers[i]) {
			add(&pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return cpu, memory
}

// bounded keeps sums of units and their memory within reach of an int64, whatever a limit says.
func bounded(units int64) int { return int(min(units, 1<<24)) }

// Annotation writes the GPUs of shares as the Binding's annotation has them.
func Annotation(shares []growth.GPUShare) string {
	gpus := make([]growth.GPU, len(shares))
	for i, share := range shares {
		gpus[i] = share.GPU
	}
	return gpushare.FormatGPUs(gpus)
}
