package recreate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/podevents"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
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

// recordEvent writes an event that explains why the pod is new, and which of its annotations it lacks.
func (r *Recreator) recordEvent(ctx context.Context, pod *corev1.Pod, refusal bus.Refusal, withheld map[string]string) {
	text := message(refusal)
	if len(withheld) > 0 {
		text += fmt.Sprintf(" It lacks %s: admission refuses a new pod that has annotations of its user without %s. Set them again.",
			strings.Join(slices.Sorted(maps.Keys(withheld)), ", "), gpushare.MemoryAnnotation)
	}
	r.events().Write(ctx, request.Ref(pod), corev1.EventTypeNormal, "Resubmitted", text)
}

// recordStaysFailed writes an event that explains why a rejected pod is not recreated. Each replica sees that.
func (r *Recreator) recordStaysFailed(ctx context.Context, pod *corev1.Pod, ran string) {
	refusal := bus.Refusal{Reason: pod.Status.Reason, Message: pod.Status.Message}
	r.events().WriteOnce(ctx, request.Ref(pod), corev1.EventTypeWarning, "StaysFailed", fmt.Sprintf("%s. Trellis does not recreate it, "+
		"because it may have run: %s. If it has not, or may run again from the start, delete it and create it again", cause(refusal), ran))
}

func (r *Recreator) events() podevents.Writer { return podevents.Writer{Client: r.Client, Log: r.Log} }
