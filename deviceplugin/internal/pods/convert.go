package pods

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/ledger"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// convert keeps what the books need of a pod. Annotations that make no sense ask for one GPU: what kubelet counts is
// the resource limit, and admission has already said what is wrong.
func convert(pod *corev1.Pod, resource corev1.ResourceName) ledger.Pod {
	p := ledger.Pod{
		Ref:      growth.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: growth.PodUID(pod.UID)},
		Created:  pod.CreationTimestamp.Time,
		Finished: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Leaving:  pod.DeletionTimestamp != nil,
		Count:    1,
	}
	if wish, err := gpushare.Parse(pod.Annotations); err == nil {
		p.Count = wish.Count
	}
	for _, c := range pod.Spec.InitContainers { // kubelet admits them first
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		p.Containers = appended(p.Containers, c, resource, !sidecar)
	}
	for _, c := range pod.Spec.Containers {
		p.Containers = appended(p.Containers, c, resource, false)
	}
	return p
}

func appended(asking []ledger.Container, c corev1.Container, resource corev1.ResourceName, init bool) []ledger.Container {
	limit, ok := c.Resources.Limits[resource]
	if units := limit.Value(); ok && units > 0 {
		asking = append(asking, ledger.Container{Name: c.Name, Units: int(units), Init: init})
	}
	return asking
}
