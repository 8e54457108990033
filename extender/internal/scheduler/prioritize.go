package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// nowhere is the score of a node without room. It gets no points.
var nowhere = placement.Score(math.NaN())

// Rated is what Prioritize found: points of each of the nodes, 0..10, in the order in which it was asked about them.
type Rated struct {
	Nodes  []string
	Points []int8

	from *slates[int8]
}

// Release says that the points are not needed any more: their list is used again.
func (r Rated) Release() {
	if r.from != nil {
		r.from.give(r.Points)
	}
}

// Prioritize rates the nodes against one another. One without room gets no points: it
// may have lost its room since it was filtered.
func (d *Decider) Prioritize(pod *corev1.Pod, nodes []string) Rated {
	snapshot := d.View.Snapshot()
	rated := Rated{Nodes: nodes, Points: d.points.take(len(nodes)), from: &d.points}
	asked, asks := request.Read(pod, d.Resource)
	if !asks {
		return rated
	}
	seen, scores := sites{roll: snapshot.Nodes}, d.scores.take(len(nodes))
	defer d.scores.give(scores)
	judge, scale, seats := d.judge(snapshot, asked), placement.Normalizer{}, snapshot.Nodes.Seats()
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
		rated.Points[i] = int8(scale.Points(score))
	}
	d.Decisions.prioritized(asked, seen)
	return rated
}
