package recreate

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// eventTime is how long events exist by default.
const eventTime = time.Hour

// recordEvent writes an event that explains why the pod is new.
func (r *Recreator) recordEvent(ctx context.Context, pod *corev1.Pod, refusal bus.Refusal) {
	meta := metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: fmt.Sprintf("%.200s.", pod.Name)}
	r.write(ctx, event(pod, meta, corev1.EventTypeNormal, "Resubmitted", message(refusal)))
}

// recordStaysFailed writes an event that explains why a rejected pod is not recreated. Its name is the same at each replica,
// so that there is one.
func (r *Recreator) recordStaysFailed(ctx context.Context, pod *corev1.Pod, ran string) {
	meta := metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%.200s.%s", pod.Name, pod.UID)}
	r.write(ctx, event(pod, meta, corev1.EventTypeWarning, "StaysFailed", fmt.Sprintf("%s. Trellis does not recreate it, because it may have run: "+
		"%s. If it has not, or may run again from the start, delete it and create it again", cause(bus.Refusal{
		Reason: pod.Status.Reason, Message: pod.Status.Message,
	}), ran)))
}

func event(pod *corev1.Pod, meta metav1.ObjectMeta, kind, reason, message string) *corev1.Event {
	now := metav1.Now()
	return &corev1.Event{
		ObjectMeta: meta,
		InvolvedObject: corev1.ObjectReference{
			APIVersion:      "v1",
			Kind:            "Pod",
			Namespace:       pod.Namespace,
			Name:            pod.Name,
			UID:             pod.UID,
			ResourceVersion: pod.ResourceVersion,
		},
		Type:                kind,
		Reason:              reason,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Source:              corev1.EventSource{Component: "trellis-extender"},
		ReportingController: "trellis-extender",
		Message:             message,
	}
}

func (r *Recreator) write(ctx context.Context, e *corev1.Event) {
	_, err := r.Client.CoreV1().Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		r.Log.Warn("an event could not be written", "pod", e.Namespace+"/"+e.InvolvedObject.Name, "err", err)
	}
}
