package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/fastpath"
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

	lists *fastpath.Lists[int8]
}

// Release recycles the points. The result must not be used afterwards.
func (r PrioritizeResult) Release() {
	if r.lists != nil {
		r.lists.Put(r.Points)
	}
}

// Prioritize scores the nodes relative to one another. A node that has lost its room since Filter gets no points.
func (s *Scheduler) Prioritize(object *corev1.Pod, nodes []string) PrioritizeResult {
	snapshot := s.Cache.Snapshot()
	result := PrioritizeResult{Nodes: nodes, Points: s.points.Get(len(nodes)), lists: &s.points}
	pod, requests := request.Read(object, s.Resource)
	if !requests {
		return result
	}
	scores := s.scores.Get(len(nodes))
	defer s.scores.Put(scores)
	evaluator, normalizer := s.evaluator(snapshot, pod), placement.Normalizer{}
	considered, cursor := snapshot.Nodes.Select(), snapshot.Nodes.Cursor()
	for i, name := range nodes {
		node := cursor.Get(growth.NodeName(name))
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
	s.decisions.prioritized(pod, considered)
	return result
}
