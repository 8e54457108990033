package mover

import (
	"context"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth"
)

// started reports whether all containers of a pod have started. Before that their images are pulled.
func started(pod *corev1.Pod) bool {
	running := 0
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil || c.State.Terminated != nil {
			running++
		}
	}
	return running > 0 && running == len(pod.Spec.Containers)
}

// noImage reports whether the node of a pod that has just been placed does not have all of its images. It is false if that is unknown: it
// only says what the time until the start of the containers has gone to.
func (m *Mover) noImage(ctx context.Context, pod *corev1.Pod) bool {
	node, err := m.Client.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil || len(node.Status.Images) == 0 {
		return false
	}
	has := imagesOf(node)
	for _, c := range pod.Spec.Containers {
		if _, known := has[fullName(c.Image)]; !known {
			return true
		}
	}
	return false
}

// missing returns the size of the images of a pod that its node has and another node does not have. It is 0 if that is unknown: kubelet
// reports the largest images only.
func (c *checks) missing(ctx context.Context, ref growth.PodRef, on growth.NodeName) growth.MiB {
	pod, err := c.pod(ctx, ref)
	if err != nil {
		return 0
	}
	to, err := c.node(ctx, on)
	if err != nil || len(to.node.Status.Images) == 0 {
		return 0
	}
	from, err := c.node(ctx, growth.NodeName(pod.Spec.NodeName))
	if err != nil {
		return 0
	}
	has, sizes := imagesOf(to.node), imagesOf(from.node)
	var missing int64
	for _, container := range pod.Spec.Containers {
		name := fullName(container.Image)
		if _, known := has[name]; !known {
			missing += sizes[name]
		}
	}
	return growth.MiB(missing >> 20)
}

// imagesOf returns the sizes of the images of a node in bytes, by all of their names.
func imagesOf(node *corev1.Node) map[string]int64 {
	sizes := map[string]int64{}
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			sizes[fullName(name)] = image.SizeBytes
		}
	}
	return sizes
}

// fullName returns the name of an image as container runtimes report it: with its registry, and with its tag or digest. An invalid one
// is returned as it is.
func fullName(image string) string {
	name, err := reference.ParseDockerRef(image)
	if err != nil {
		return image
	}
	return name.String()
}
