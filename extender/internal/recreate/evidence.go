package recreate

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// admissionDelay bounds the time between a pod's start time, which kubelet sets when it first sees the pod, and a rejection
// at that time. It allows for different clocks of node and API server.
const admissionDelay = 10 * time.Second

// ranBefore returns what shows that a rejected pod may have run earlier, or "". A restarted kubelet rejects pods that have
// run for hours, and their status then lists no containers.
func ranBefore(pod *corev1.Pod) string {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses)
	switch {
	case pod.Annotations[gpushare.CategoryAnnotation] != "":
		return "its node's coordinator has observed it"
	case slices.ContainsFunc(statuses, started):
		return "one of its containers has started"
	case slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return showsSandbox(pod, c) }):
		return "its containers could start"
	}
	rejected, known := rejectionTime(pod)
	if known && pod.Status.StartTime != nil && rejected.Sub(pod.Status.StartTime.Time) > admissionDelay {
		return "kubelet admitted it before it rejected it"
	}
	return ""
}

// started reports whether a container has started. Kubelet makes up the state ContainerStatusUnknown, without any times,
// for containers of which it finds no trace.
func started(c corev1.ContainerStatus) bool {
	terminated := c.State.Terminated
	madeUp := terminated != nil && terminated.Reason == "ContainerStatusUnknown" &&
		terminated.StartedAt.IsZero() && terminated.ContainerID == ""
	return c.State.Running != nil ||
		terminated != nil && !madeUp ||
		c.LastTerminationState.Terminated != nil ||
		c.RestartCount > 0 ||
		c.ContainerID != "" ||
		c.Started != nil && *c.Started
}

// showsSandbox reports whether a condition is only true once kubelet has created the pod's sandbox. A pod without init containers is
// initialized from its first status on, which kubelet may write after it has rejected the pod.
func showsSandbox(pod *corev1.Pod, c corev1.PodCondition) bool {
	if c.Type == corev1.PodInitialized && len(pod.Spec.InitContainers) == 0 {
		return false
	}
	admitted := []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
	}
	return c.Status == corev1.ConditionTrue && slices.Contains(admitted, c.Type)
}

// rejectionTime returns when kubelet last wrote the pod's status. The status that it writes with a rejection has no
// containers; a status with containers was written later.
func rejectionTime(pod *corev1.Pod) (time.Time, bool) {
	if len(pod.Status.ContainerStatuses)+len(pod.Status.InitContainerStatuses) > 0 {
		return time.Time{}, false
	}
	return statusTime(pod)
}

// statusTime returns when kubelet last wrote the pod's status.
func statusTime(pod *corev1.Pod) (time.Time, bool) {
	for _, f := range pod.ManagedFields {
		if f.Manager == "kubelet" && f.Subresource == "status" && f.Time != nil {
			return f.Time.Time, true
		}
	}
	return time.Time{}, false
}

// ranOnBus returns what the bus shows of a rejected pod that has run, or "". An allocation counts at the end of the delay
// only: the device plugin deletes the record of a pod that it knows to be rejected.
func (r *Recreator) ranOnBus(ctx context.Context, pod *corev1.Pod, delayed bool) (string, error) {
	uid := growth.PodUID(pod.UID)
	traces := []struct{ key, meaning string }{
		{bus.SampleKey(uid), "its node's coordinator publishes samples of it"},
		{bus.AdviceKey(uid), "the tuner has advice for it"},
	}
	if delayed {
		key := bus.AllocationKey(growth.NodeName(pod.Spec.NodeName), uid)
		traces = append(traces, struct{ key, meaning string }{key, "the bus has an allocation of it"})
	}
	for _, trace := range traces {
		entries, _, err := r.Bus.List(ctx, trace.key)
		if err != nil {
			return "", err
		}
		if len(entries) > 0 {
			return trace.meaning, nil
		}
	}
	return "", nil
}
