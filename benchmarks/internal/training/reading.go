package training

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/benchmarks/internal/cluster"
	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
	"github.com/trellis-gpu/trellis/benchmarks/internal/workload"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Sight is the observed state of the cluster: the run's pods, and the tuner's state or the error.
type Sight struct {
	At    time.Time
	Pods  []corev1.Pod
	State cluster.State
	// Unavailable is why the state is unknown.
	Unavailable error
}

// Reading returns the reading of a workload's jobs, of which the first `submitted` have been submitted.
func Reading(jobs workload.Workload, submitted int, s Sight) timeline.Reading {
	reading := timeline.Reading{At: s.At, Nodes: nodes(s.State)}
	switch {
	case s.Unavailable != nil:
		reading.Unavailable = s.Unavailable.Error()
	case s.State.Error != "":
		reading.Unavailable = s.State.Error
	}
	pods := make(map[string]*corev1.Pod, len(s.Pods))
	for i := range s.Pods {
		pods[s.Pods[i].Name] = &s.Pods[i]
	}
	samples := make(map[growth.PodUID]cluster.JobState, len(s.State.Jobs))
	for _, j := range s.State.Jobs {
		samples[j.Sample.Pod.UID] = j
	}
	for i, job := range jobs {
		row := timeline.Job{Name: job.Name, Kind: job.Kind, Steps: int64(job.Steps), State: timeline.Expected}
		row.GPUMemory, _ = gpushare.ParseMemory(job.GPUMemory)
		if pod, ok := pods[job.Name]; ok {
			fromPod(&row, pod)
			if seen, ok := samples[growth.PodUID(pod.UID)]; ok {
				fromSample(&row, seen)
			}
		} else if i < submitted {
			row.State = timeline.Gone
		}
		reading.Jobs = append(reading.Jobs, row)
	}
	return reading
}

func nodes(state cluster.State) []timeline.Node {
	var nodes []timeline.Node
	for _, n := range state.Nodes {
		node := timeline.Node{Name: n.Name}
		if n.Load != nil {
			node.Policy, node.CPUPool, node.CPUUsed = n.Load.Policy, n.Load.CPUPool, n.Load.CPUUsed
		}
		if n.GPUs != nil {
			node.Emulated, node.Computes = n.GPUs.Emulated, n.GPUs.Computes
			for _, g := range n.GPUs.GPUs {
				node.GPUs = append(node.GPUs, timeline.GPU(g))
			}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func fromPod(row *timeline.Job, pod *corev1.Pod) {
	row.Submitted = pod.CreationTimestamp.Time
	row.Node = growth.NodeName(pod.Spec.NodeName)
	row.GPU = growth.GPU(pod.Annotations[gpushare.GPUAnnotation])
	row.Category = growth.Category(pod.Annotations[gpushare.CategoryAnnotation])
	row.State = state(pod)
	row.Request = growth.MilliCPU(pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue())
	for _, status := range pod.Status.ContainerStatuses {
		row.Restarts += int(status.RestartCount)
		if status.Resources != nil {
			row.Request = growth.MilliCPU(status.Resources.Requests.Cpu().MilliValue())
		}
		if status.State.Running != nil && row.Started.IsZero() {
			row.Started = status.State.Running.StartedAt.Time
		}
		if ended := status.State.Terminated; ended != nil && row.State.Over() {
			row.Started, row.Ended = ended.StartedAt.Time, ended.FinishedAt.Time
		}
	}
}

// Refused reports whether kubelet rejected a pod before it ran, as it does while the node's device plugin is down.
// The pod has failed; a controller would create another.
func Refused(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "UnexpectedAdmissionError"
}

func state(pod *corev1.Pod) timeline.State {
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return timeline.Finished
	case corev1.PodFailed:
		return timeline.Failed
	}
	for _, status := range pod.Status.ContainerStatuses {
		// A container that ended well is about to make its pod Succeeded; one that did not starts again.
		if ended := status.State.Terminated; status.State.Running != nil || (ended != nil && ended.ExitCode == 0) {
			return timeline.Running
		}
	}
	if pod.Spec.NodeName == "" {
		return timeline.Pending
	}
	return timeline.Starting
}

func fromSample(row *timeline.Job, seen cluster.JobState) {
	s := seen.Sample
	row.Sampled, row.Reported = true, s.Reported
	row.Step, row.Steps = s.Step, s.TotalSteps
	row.Metric, row.Value = s.Metric, s.Value
	row.Growth, row.Share, row.Weight = s.Growth, s.Share, s.Weight
	if s.GPUTime != nil {
		row.GPUShare = &s.GPUTime.Share
	}
	if row.Category == "" { // the annotation is not on the pod yet
		row.Category = s.Category
	}
	row.CPUUsed, row.Memory = s.CPUUsed, s.MemoryUsed
	row.Loaders, row.Acknowledged = s.Loaders, s.Applied
	if len(s.GPUs) > 0 && row.GPU == "" {
		row.GPU = s.GPUs[0]
	}
	if seen.Advice != nil {
		row.Advice = seen.Advice.Reason
	}
}
