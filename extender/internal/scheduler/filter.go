package scheduler

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
	"github.com/trellis-gpu/trellis/growth/move"
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
	place := s.place(pod)
	pod.Request.Kind, pod.Continues = kind(snapshot, object), place.Old
	evaluator := s.evaluator(snapshot, pod)
	nomination := s.nominations.get(pod.Ref.UID, time.Now())
	if place.Unknown {
		return FilterResult{}, errMovesUnknown
	}
	considered := snapshot.Nodes.Select()
	for i, name := range nodes {
		node := snapshot.Nodes.Get(growth.NodeName(name))
		considered.Append(growth.NodeName(name), node)
		status := evaluator.verdict(node).Status
		if status != nil && name == nomination.node && nomination.fits(node.Value, pod) {
			status = nil
		}
		if why := elsewhere(place, growth.NodeName(name)); why != "" {
			status = &placement.Status{Reason: why, Unresolvable: true}
		}
		result.Statuses[i] = status
	}
	if room := s.offer(pod, snapshot, result); room != (gang.Room{}) {
		within(result, room)
	}
	s.decisions.filtered(evaluator, considered)
	s.Log.Debug("filtered", "pod", pod.Ref, "nodes", len(nodes))
	return result, nil
}

// place returns where a pod that continues a job may run.
func (s *Scheduler) place(pod request.Pod) move.Place {
	if s.Place == nil {
		return move.Place{}
	}
	return s.Place(pod.Identity())
}

// elsewhere returns why a pod that continues a job may not run on a node, or "".
func elsewhere(p move.Place, node growth.NodeName) string {
	switch {
	case p.Wait:
		return "the pod continues the job of one that has not ended yet"
	case p.Unready:
		return "the pod does not have the checkpoint of its job yet"
	case p.Only != "" && p.Only != node:
		return "the job moves to node " + string(p.Only)
	case p.Not != "" && p.Not == node:
		return "the job moves away from this node"
	}
	return ""
}

// Unfit returns why a pod would not fit a node, or "".
func (s *Scheduler) Unfit(pod *corev1.Pod, node growth.NodeName) string {
	result, err := s.Filter(pod, []string{string(node)})
	switch {
	case err != nil:
		return err.Error()
	case result.Statuses[0] != nil:
		return result.Statuses[0].Reason
	}
	return ""
}
