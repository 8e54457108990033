package install

import (
	"fmt"
	"slices"
	"strings"
)

// workload is the part of a Deployment, StatefulSet or DaemonSet that its readiness depends on.
type workload struct {
	Kind     string
	Metadata struct {
		Name       string
		Generation int64
	}
	Spec   struct{ Replicas *int }
	Status struct {
		ObservedGeneration                                          int64
		Replicas, ReadyReplicas, UpdatedReplicas                    int // Deployment, StatefulSet
		CurrentRevision, UpdateRevision                             string
		DesiredNumberScheduled, NumberReady, UpdatedNumberScheduled int // DaemonSet
	}
}

// counts are the numbers of pods that are wanted, updated to the latest version, and ready.
func (w workload) counts() (want, updated, ready int) {
	if w.Kind == "DaemonSet" {
		return w.Status.DesiredNumberScheduled, w.Status.UpdatedNumberScheduled, w.Status.NumberReady
	}
	want = 1
	if w.Spec.Replicas != nil {
		want = *w.Spec.Replicas
	}
	updated = w.Status.UpdatedReplicas
	if w.Kind == "StatefulSet" && w.Status.CurrentRevision == w.Status.UpdateRevision {
		updated = w.Status.Replicas // the controller omits updatedReplicas once all pods are updated
	}
	return want, updated, w.Status.ReadyReplicas
}

// done returns true if all pods of the workload have the latest version and are ready.
func (w workload) done() bool {
	want, updated, ready := w.counts()
	observed := w.Status.ObservedGeneration >= w.Metadata.Generation
	surplus := w.Kind == "Deployment" && w.Status.Replicas > want
	return observed && !surplus && updated >= want && ready >= want && want > 0
}

func (w workload) String() string {
	want, updated, ready := w.counts()
	return fmt.Sprintf("%s %d/%d ready, %d updated", w.Metadata.Name, ready, want, updated)
}

// pod is the part of a pod of Trellis that says whether it runs.
type pod struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct {
		Phase             string
		Conditions        []struct{ Type, Status, Reason, Message string }
		ContainerStatuses []struct {
			Name         string
			Ready        bool
			RestartCount int
			State        struct {
				Waiting, Terminated *struct{ Reason, Message string }
			}
		}
	}
}

// problem returns why a pod does not run, or "" while it starts.
func (p pod) problem() string {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return fmt.Sprintf("%s: %s", p.Metadata.Name, c.Message)
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		s := c.State
		switch {
		case s.Waiting != nil && s.Waiting.Reason != "ContainerCreating" && s.Waiting.Reason != "PodInitializing":
			return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s: %s", p.Metadata.Name, c.Name, s.Waiting.Reason, s.Waiting.Message), ": ")
		case s.Terminated != nil:
			return fmt.Sprintf("%s: %s ended (%s)", p.Metadata.Name, c.Name, s.Terminated.Reason)
		}
	}
	return ""
}

// gpuNode is a node with the label gpushare=true.
type gpuNode struct {
	Metadata struct{ Name string }
	Status   struct{ Allocatable map[string]string }
}

// unready lists what is still missing for all workloads to be ready and all nodes to offer the resource.
func unready(workloads []workload, pods []pod, nodes []gpuNode, resource string) []string {
	var missing []string
	for _, w := range workloads {
		if !w.done() {
			missing = append(missing, w.String())
		}
	}
	for _, p := range pods {
		if problem := p.problem(); problem != "" {
			missing = append(missing, problem)
		}
	}
	for _, n := range nodes {
		if units := n.Status.Allocatable[resource]; units == "" || units == "0" {
			missing = append(missing, n.Metadata.Name+" offers no "+resource)
		}
	}
	if len(workloads) == 0 {
		missing = append(missing, "no workload yet")
	}
	slices.Sort(missing)
	return missing
}
