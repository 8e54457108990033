package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// noRoom is the score of a node without room. It gets no points.
var noRoom = placement.Score(math.NaN())

// PrioritizeResult has the points of each node of the request, from 0 to 10.
type PrioritizeResult struct {
	Nodes  []string
	Points []int8
}

// Prioritize scores the nodes relative to one another. A node that has lost its room since Filter gets no points.
func (s *Scheduler) Prioritize(object *corev1.Pod, nodes []string) PrioritizeResult {
	snapshot := s.Cache.Snapshot()
	result := PrioritizeResult{Nodes: nodes, Points: make([]int8, len(nodes))}
	pod, requests := request.Read(object, s.Resource)
	if !requests {
		return result
	}
	scores := make([]placement.Score, len(nodes))
	pod.Request.Kind, pod.Continues = kind(snapshot, object), s.place(pod).Old
	evaluator, normalizer := s.evaluator(snapshot, pod), placement.Normalizer{}
	considered := snapshot.Nodes.Select()
	for i, name := range nodes {
		node := snapshot.Nodes.Get(growth.NodeName(name))
		considered.Append(growth.NodeName(name), node)
		verdict := evaluator.verdict(node)
		if verdict.Status != nil {
			scores[i] = noRoom
			continue
		}
		scores[i] = verdict.Score
		normalizer.Add(verdict.Score)
	}
	for i, score := range scores {
		result.Points[i] = int8(normalizer.Points(score))
	}
	s.decisions.prioritized(evaluator, considered)
	return result
}
