package mover

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// digest is that of each image.
const digest = "@sha256:0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"

// imageNode reports images by their full names, as kubelet does.
func imageNode(name string, images ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, image := range images {
		repository, _, _ := strings.Cut(image, ":")
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names:     []string{fullName(repository + digest), fullName(image)},
			SizeBytes: 3000 << 20,
		})
	}
	return n
}

// Users write short names of images, and kubelet reports full ones.
func TestImages_AreFoundByAnyName(t *testing.T) {
	require.NotEqual(t, "python", fullName("python"))
	for name, tc := range map[string]struct {
		image    string
		from, to *corev1.Node
		missing  growth.MiB
		noImage  bool
	}{
		"the target has it":              {"team/train:2.3", imageNode("a", "team/train:2.3"), imageNode("b", "team/train:2.3"), 0, false},
		"an official image":              {"python", imageNode("a", "python:latest"), imageNode("b", "python:latest"), 0, false},
		"by its digest":                  {"train" + digest, imageNode("a", "train:1"), imageNode("b", "train:1"), 0, false},
		"the target has another tag":     {"train:2", imageNode("a", "train:2"), imageNode("b", "train:1"), 3000, true},
		"kubelet reports nothing":        {"train:2", imageNode("a", "train:2"), imageNode("b"), 0, false},
		"its node does not report it":    {"train:2", imageNode("a", "pause:3"), imageNode("b", "pause:3"), 0, true},
		"only its node reports no image": {"train:2", imageNode("a"), imageNode("b", "pause:3"), 0, true},
		"an invalid name":                {"Train:2", imageNode("a", "train:2"), imageNode("b", "train:2"), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", Annotations: map[string]string{gpushare.MemoryAnnotation: "1"}}}
			pod.Spec.NodeName, pod.Spec.Containers = "a", []corev1.Container{{Name: "train", Image: tc.image}}
			client := fake.NewClientset(pod, tc.from, tc.to)
			check := &checks{client: client}
			require.Equal(t, tc.missing, check.missing(t.Context(), growth.PodRef{Namespace: "default", Name: "p"}, "b"))
			placed := pod.DeepCopy()
			placed.Spec.NodeName = "b"
			require.Equal(t, tc.noImage, (&Mover{Client: client}).noImage(t.Context(), placed))
		})
	}
}

func TestStarted_OnceAllContainersRun(t *testing.T) {
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	waits := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}
	for name, tc := range map[string]struct {
		statuses []corev1.ContainerStatus
		want     bool
	}{
		"no status yet":      {nil, false},
		"one pulls an image": {[]corev1.ContainerStatus{running, waits}, false},
		"all run":            {[]corev1.ContainerStatus{running, running}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 2)}, Status: corev1.PodStatus{ContainerStatuses: tc.statuses}}
			require.Equal(t, tc.want, started(pod))
		})
	}
}
