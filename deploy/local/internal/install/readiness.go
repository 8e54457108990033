package install

import (
	"fmt"
	"slices"
	"strings"
)

// workload is what we look at of a Deployment, StatefulSet or DaemonSet.
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

// counts are the pods wanted, those of the present version, and those Ready.
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
		updated = w.Status.Replicas // its controller leaves updatedReplicas out once all are
	}
	return want, updated, w.Status.ReadyReplicas
}

// done tells whether the workload runs in its present version and no other.
func (w workload) done() bool {
	want, updated, ready := w.counts()
	seen := w.Status.ObservedGeneration >= w.Metadata.Generation
	left := w.Kind == "Deployment" && w.Status.Replicas > want
	return seen && !left && updated >= want && ready >= want && want > 0
}

func (w workload) String() string {
	want, updated, ready := w.counts()
	return fmt.Sprintf("%s %d/%d ready, %d new", w.Metadata.Name, ready, want, updated)
}

// agent is what we look at of a pod of ours.
type agent struct {
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

// trouble says why a pod does not run, and nothing while it is only starting.
func (a agent) trouble() string {
	for _, c := range a.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return fmt.Sprintf("%s: %s", a.Metadata.Name, c.Message)
		}
	}
	for _, c := range a.Status.ContainerStatuses {
		s := c.State
		switch {
		case s.Waiting != nil && s.Waiting.Reason != "ContainerCreating" && s.Waiting.Reason != "PodInitializing":
			return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s: %s", a.Metadata.Name, c.Name, s.Waiting.Reason, s.Waiting.Message), ": ")
		case s.Terminated != nil:
			return fmt.Sprintf("%s: %s ended (%s)", a.Metadata.Name, c.Name, s.Terminated.Reason)
		}
	}
	return ""
}

// gpuNode is what we look at of a node with the label gpushare=true.
type gpuNode struct {
	Metadata struct{ Name string }
	Status   struct{ Allocatable map[string]string }
}

// unready lists what is still missing.
func unready(workloads []workload, pods []agent, nodes []gpuNode) []string {
	var missing []string
	for _, w := range workloads {
		if !w.done() {
			missing = append(missing, w.String())
		}
	}
	for _, p := range pods {
		if trouble := p.trouble(); trouble != "" {
			missing = append(missing, trouble)
		}
	}
	for _, n := range nodes {
		if units := n.Status.Allocatable[resource]; units == "" || units == "0" {
			missing = append(missing, n.Metadata.Name+" advertises no "+resource)
		}
	}
	if len(workloads) == 0 {
		missing = append(missing, "no workload yet")
	}
	slices.Sort(missing)
	return missing
}
