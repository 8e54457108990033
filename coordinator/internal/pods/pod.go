package pods

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/jobkind"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// Read converts a pod.
func Read(p *corev1.Pod) node.Pod {
	pod := node.Pod{
		Ref:          growth.PodRef{Namespace: p.Namespace, Name: p.Name, UID: growth.PodUID(p.UID)},
		Annotations:  maps.Clone(p.Annotations),
		Running:      p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil,
		Created:      p.CreationTimestamp.Time,
		Started:      started(p),
		Scheduler:    p.Spec.SchedulerName,
		HostNetwork:  p.Spec.HostNetwork,
		ResizeStatus: resizeStatus(p),
		Outside:      outside(p),
		Burstable:    staysBurstable(p),
		ByLimits:     !gpushare.RequestsShare(p.Annotations),
		ResizedBy:    resizedBy(p),
	}
	if p.DeletionTimestamp != nil {
		pod.Deadline = p.DeletionTimestamp.Time
	}
	pod.Program, pod.Anywhere, pod.Numbers = jobkind.Program(p)
	if p.Spec.Priority != nil {
		pod.Priority = *p.Spec.Priority
	}
	pod.Owner, pod.Command, pod.Distributed = jobkind.Owner(p), jobkind.Command(p), jobkind.Distributed(p)
	for _, c := range p.Spec.Containers {
		pod.Containers = append(pod.Containers, node.Container{
			Name:      c.Name,
			Request:   milli(c.Resources.Requests),
			Limit:     milli(c.Resources.Limits),
			Allocated: allocated(p.Status.ContainerStatuses, c.Name),
			ID:        running(p.Status.ContainerStatuses, c.Name),
			Ended:     ended(p.Status.ContainerStatuses, c.Name) != nil,
			Failed:    failure(ended(p.Status.ContainerStatuses, c.Name)),
		})
	}
	pod.Fixed = fixed(p, pod)
	pod.Memory = memory(p, pod.Trainer().Name)
	pod.SharedMemory = sharedMemory(p, pod.Trainer().Name)
	pod.Threads = threads(p, pod.Trainer().Name)
	pod.Volumes = volumes(p, pod.Trainer().Name)
	pod.Probed = probed(p)
	return pod
}

// running returns the ID of the running container with a name. A status has it as "<runtime>://<ID>".
func running(statuses []corev1.ContainerStatus, name string) string {
	for _, s := range statuses {
		if s.Name == name && s.State.Running != nil {
			_, id, _ := strings.Cut(s.ContainerID, "://")
			return id
		}
	}
	return ""
}

// ended returns how the container with a name has terminated; nil if it has not, or has been restarted.
func ended(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStateTerminated {
	for _, s := range statuses {
		if s.Name == name && s.State.Running == nil {
			return cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
		}
	}
	return nil
}

// failure returns why a container has failed; empty if it has not.
func failure(end *corev1.ContainerStateTerminated) string {
	switch {
	case end == nil || end.ExitCode == 0:
		return ""
	case end.Reason == "" || end.Reason == "Error":
		return fmt.Sprintf("exit code %d", end.ExitCode)
	}
	return fmt.Sprintf("exit code %d, %s", end.ExitCode, end.Reason)
}

// started returns when the first of a pod's containers started. kubelet reports it in whole seconds.
func started(p *corev1.Pod) time.Time {
	var first time.Time
	earlier := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		for _, state := range []corev1.ContainerState{s.LastTerminationState, s.State} {
			if state.Running != nil {
				earlier(state.Running.StartedAt.Time)
			}
			if state.Terminated != nil {
				earlier(state.Terminated.StartedAt.Time)
			}
		}
	}
	return first
}

// Ours reports whether a pod asks for a share of a GPU: by its annotations, or by a container's limit of the extended
// resource, like pods that were written for other GPU sharing systems. Static pods are no jobs: kubelet reads them from a file,
// so neither admission nor a resize can change them.
func Ours(p *corev1.Pod, resource corev1.ResourceName) bool {
	if _, static := p.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return false
	}
	limited := func(c corev1.Container) bool {
		units := c.Resources.Limits[resource]
		return units.Sign() > 0
	}
	return gpushare.RequestsShare(p.Annotations) || slices.ContainsFunc(p.Spec.Containers, limited)
}

// resizeStatus returns kubelet's answer to the last resize. An answer to an earlier one does not count.
func resizeStatus(p *corev1.Pod) node.ResizeStatus {
	at := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue
	})
	if at < 0 {
		return node.ResizeStatus{}
	}
	c := p.Status.Conditions[at]
	if c.ObservedGeneration > 0 && c.ObservedGeneration < p.Generation {
		return node.ResizeStatus{}
	}
	return node.ResizeStatus{Reason: c.Reason, Message: c.Message}
}

// allocated returns the request that kubelet has admitted for a container: the allocated resources, or else the
// resources in effect, which may be rounded by the cgroup weight.
func allocated(statuses []corev1.ContainerStatus, name string) growth.MilliCPU {
	for _, s := range statuses {
		if s.Name != name {
			continue
		}
		if cpu, ok := s.AllocatedResources[corev1.ResourceCPU]; ok {
			return growth.MilliCPU(cpu.MilliValue())
		}
		if s.Resources != nil {
			return growth.MilliCPU(s.Resources.Requests.Cpu().MilliValue())
		}
	}
	return 0
}
