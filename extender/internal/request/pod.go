package request

import (
	"slices"
	"strings"
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
	// Nonsense says what is wrong with its wishes, in a sentence for the user.
	Nonsense error
}

// Read takes a pod apart. It returns false for one that asks for no share of the extended resource.
func Read(pod *corev1.Pod, resource corev1.ResourceName) (Pod, bool) {
	containers := limits(pod, resource)
	if len(containers) == 0 && !gpushare.Asks(pod.Annotations) {
		return Pod{}, false
	}
	p := Pod{
		Ref:             growth.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: growth.PodUID(pod.UID)},
		ResourceVersion: pod.ResourceVersion,
		Created:         pod.CreationTimestamp.Time,
		Node:            growth.NodeName(pod.Spec.NodeName),
		GPUs:            gpus(pod.Annotations[gpushare.GPUAnnotation]),
		Ended:           pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
	}
	wish, err := gpushare.Parse(pod.Annotations)
	if err != nil {
		p.Nonsense = err
	}
	p.Request = placement.Request{Memory: wish.Memory, Count: max(1, wish.Count), Containers: containers}
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
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
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

// bounded keeps sums of units and their memory within reach of an int64, whatever a limit says.
func bounded(units int64) int { return int(min(units, 1<<24)) }

// gpus reads the annotation that the Binding wrote.
func gpus(list string) []growth.GPU {
	var gpus []growth.GPU
	for uuid := range strings.SplitSeq(list, ",") {
		if uuid = strings.TrimSpace(uuid); uuid != "" && !slices.Contains(gpus, growth.GPU(uuid)) {
			gpus = append(gpus, growth.GPU(uuid))
		}
	}
	return gpus
}

// Annotation writes what gpus reads.
func Annotation(shares []growth.GPUShare) string {
	uuids := make([]string, len(shares))
	for i, share := range shares {
		uuids[i] = string(share.GPU)
	}
	return strings.Join(uuids, ",")
}

// Slim drops what Read does not look at. It is the informers' transform.
func Slim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{TypeMeta: pod.TypeMeta}
	slim.Namespace, slim.Name, slim.UID, slim.ResourceVersion = pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion
	slim.CreationTimestamp, slim.Annotations = pod.CreationTimestamp, wishes(pod.Annotations)
	slim.Spec.NodeName, slim.Status.Phase = pod.Spec.NodeName, pod.Status.Phase
	slim.Spec.InitContainers, slim.Spec.Containers = bare(pod.Spec.InitContainers), bare(pod.Spec.Containers)
	return slim, nil
}

func wishes(annotations map[string]string) map[string]string {
	var kept map[string]string
	for name, value := range annotations {
		if strings.HasPrefix(name, "gpushare/") {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[name] = value
		}
	}
	return kept
}

func bare(containers []corev1.Container) []corev1.Container {
	bare := make([]corev1.Container, len(containers))
	for i, c := range containers {
		bare[i].Name, bare[i].RestartPolicy = c.Name, c.RestartPolicy
		bare[i].Resources.Limits = c.Resources.Limits
	}
	return bare
}
