package decide

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// nowhere is the score of a node without room. It gets no points.
var nowhere = placement.Score(math.NaN())

// Prioritize rates the nodes against one another, 0..10, in the order of the question. One without room gets no points: it
// may have lost its room since it was filtered.
func (d *Decider) Prioritize(pod *corev1.Pod, nodes []string) []int8 {
	snapshot := d.View.Snapshot()
	points := make([]int8, len(nodes))
	asked, asks := request.Read(pod, d.Resource)
	if !asks {
		return points
	}
	seen, scores := sites{roll: snapshot.Nodes}, d.scores.take(len(nodes))
	defer d.scores.give(scores)
	judge, scale, seats := d.judge(snapshot, asked), placement.Scale{}, snapshot.Nodes.Seats()
	for i, name := range nodes {
		seat := seats.Next(growth.NodeName(name))
		seen.add(name, seat)
		verdict := judge.of(seat)
		if scores[i] = verdict.Score; verdict.Misfit != nil {
			scores[i] = nowhere
			continue
		}
		scale.Add(verdict.Score)
	}
	for i, score := range scores {
		points[i] = int8(scale.Points(score))
	}
	d.Decisions.prioritized(asked, seen)
	return points
}
