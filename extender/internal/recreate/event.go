package recreate

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/podevents"
	"github.com/trellis-gpu/trellis/extender/internal/request"
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
	r.events().Write(ctx, request.Ref(pod), corev1.EventTypeNormal, "Resubmitted", message(refusal))
}

// recordStaysFailed writes an event that explains why a rejected pod is not recreated. Each replica sees that.
func (r *Recreator) recordStaysFailed(ctx context.Context, pod *corev1.Pod, ran string) {
	refusal := bus.Refusal{Reason: pod.Status.Reason, Message: pod.Status.Message}
	r.events().WriteOnce(ctx, request.Ref(pod), corev1.EventTypeWarning, "StaysFailed", fmt.Sprintf("%s. Trellis does not recreate it, "+
		"because it may have run: %s. If it has not, or may run again from the start, delete it and create it again", cause(refusal), ran))
}

func (r *Recreator) events() podevents.Writer { return podevents.Writer{Client: r.Client, Log: r.Log} }
