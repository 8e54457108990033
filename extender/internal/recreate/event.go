package recreate

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// message says why kubelet rejected the pod, in kubelet's own words too.
func message(refusal bus.Refusal) string {
	text := "Kubelet rejected this pod before it ran"
	if refusal.Reason != "" {
		text = cause(refusal)
		quoted := strings.TrimPrefix(refusal.Message, "Pod was rejected: ")
		text += fmt.Sprintf(" (%s: %.600s)", refusal.Reason, strings.TrimSuffix(quoted, "."))
	}
	return text + ". Trellis has recreated it, because nothing shows that it ran."
}

// cause describes the reason of a rejection.
func cause(refusal bus.Refusal) string {
	name, outOf := strings.CutPrefix(refusal.Reason, insufficient)
	restarting := strings.Contains(refusal.Message, "unregistered device") ||
		strings.Contains(refusal.Message, "no healthy devices present")
	switch {
	case outOf:
		return "Kubelet rejected this pod because its node had too little " + name
	case refusal.Reason == topologyError:
		return "Kubelet rejected this pod because the node's Topology Manager could not align its resources"
	case restarting:
		return "Kubelet rejected this pod because kubelet or its device plugin was restarting"
	}
	return "Kubelet rejected this pod because it could not allocate the pod's devices"
}

// recordEvent writes an event that explains why the pod is new.
func (r *Recreator) recordEvent(ctx context.Context, pod *corev1.Pod, refusal bus.Refusal) {
	now := metav1.Now()
	_, err := r.Client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: fmt.Sprintf("%.200s.", pod.Name)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion:      "v1",
			Kind:            "Pod",
			Namespace:       pod.Namespace,
			Name:            pod.Name,
			UID:             pod.UID,
			ResourceVersion: pod.ResourceVersion,
		},
		Type:                corev1.EventTypeNormal,
		Reason:              "Resubmitted",
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Source:              corev1.EventSource{Component: "trellis-extender"},
		ReportingController: "trellis-extender",
		Message:             message(refusal),
	}, metav1.CreateOptions{})
	if err != nil {
		r.Log.Warn("an event could not be written", "pod", pod.Namespace+"/"+pod.Name, "err", err)
	}
}
