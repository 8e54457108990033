package scheduler

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// FilterResult has, for each node of the request, why the pod does not fit, or nil where it fits.
type FilterResult struct {
	Nodes    []string
	Statuses []*placement.Status
}

// Fit returns the nodes with room.
func (r FilterResult) Fit() []string {
	fit := make([]string, 0, len(r.Nodes))
	for i, status := range r.Statuses {
		if status == nil {
			fit = append(fit, r.Nodes[i])
		}
	}
	return fit
}

// Failed returns the reasons of the nodes without room: of those where evictions could help, or of the unresolvable ones.
func (r FilterResult) Failed(unresolvable bool) map[string]string {
	failed := map[string]string{}
	for i, status := range r.Statuses {
		if status != nil && status.Unresolvable == unresolvable {
			failed[r.Nodes[i]] = status.Reason
		}
	}
	return failed
}

// Filter finds the nodes that have room for the pod.
func (s *Scheduler) Filter(object *corev1.Pod, nodes []string) (FilterResult, error) {
	snapshot := s.Cache.Snapshot()
	if !snapshot.Synced {
		return FilterResult{}, errUnsynced
	}
	result := FilterResult{Nodes: nodes, Statuses: make([]*placement.Status, len(nodes))}
	pod, requests := request.Read(object, s.Resource)
	if !requests {
		return result, nil
	}
	pod.Request.Kind = kind(snapshot, object)
	evaluator := s.evaluator(snapshot, pod)
	nomination := s.nominations.get(pod.Ref.UID, time.Now())
	considered := snapshot.Nodes.Select()
	for i, name := range nodes {
		node := snapshot.Nodes.Get(growth.NodeName(name))
		considered.Append(growth.NodeName(name), node)
		status := evaluator.verdict(node).Status
		if status != nil && name == nomination.node && nomination.fits(node.Value, pod) {
			status = nil
		}
		result.Statuses[i] = status
	}
	s.decisions.filtered(evaluator, considered)
	s.Log.Debug("filtered", "pod", pod.Ref, "nodes", len(nodes))
	return result, nil
}
