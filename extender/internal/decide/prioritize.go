package decide

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Prioritize rates the nodes against one another, 0..10, in the order of the question. One without room gets no points: it
// may have lost its room since it was filtered.
func (d *Decider) Prioritize(pod *corev1.Pod, nodes []string) []int8 {
	snapshot := d.View.Snapshot()
	points := make([]int8, len(nodes))
	asked, asks := request.Read(pod, d.Resource)
	if !asks {
		return points
	}
	seen, verdicts := sites{roll: snapshot.Nodes}, d.slates.take(len(nodes))
	defer d.slates.give(verdicts)
	judge, scale, seats := d.judge(snapshot, asked), placement.Scale{}, snapshot.Nodes.Seats()
	for i, name := range nodes {
		seat := seats.Next(growth.NodeName(name))
		seen.add(name, seat)
		if verdicts[i] = judge.of(seat); verdicts[i].Fits() {
			scale.Add(verdicts[i].Score)
		}
	}
	for i, verdict := range verdicts {
		if verdict.Fits() {
			points[i] = int8(scale.Points(verdict.Score))
		}
	}
	d.Decisions.prioritized(asked, seen)
	return points
}
