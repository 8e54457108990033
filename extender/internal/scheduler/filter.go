package scheduler

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Filtered is what Filter found: what stands against each of the nodes, nil for nothing, in the order in which it was asked
// about them.
type Filtered struct {
	Nodes   []string
	Misfits []*placement.Status

	from *slates[*placement.Status]
}

// Release says that the misfits are not needed any more: their list is used again.
func (f Filtered) Release() {
	if f.from != nil {
		f.from.give(f.Misfits)
	}
}

// Fit are the nodes with room.
func (f Filtered) Fit() []string {
	fit := make([]string, 0, len(f.Nodes))
	for i, misfit := range f.Misfits {
		if misfit == nil {
			fit = append(fit, f.Nodes[i])
		}
	}
	return fit
}

// Refused are the nodes without room, and why: now, or hopelessly, for they would have none if they were empty.
func (f Filtered) Refused(hopelessly bool) map[string]string {
	refused := map[string]string{}
	for i, misfit := range f.Misfits {
		if misfit != nil && misfit.Unresolvable == hopelessly {
			refused[f.Nodes[i]] = misfit.Reason
		}
	}
	return refused
}

// Filter finds out which of the nodes have room for the pod.
func (d *Decider) Filter(pod *corev1.Pod, nodes []string) (Filtered, error) {
	snapshot := d.View.Snapshot()
	if !snapshot.Synced {
		return Filtered{}, errUnsynced
	}
	found := Filtered{Nodes: nodes, Misfits: d.misfits.take(len(nodes)), from: &d.misfits}
	asked, asks := request.Read(pod, d.Resource)
	if !asks {
		return found, nil
	}
	seen, seats := sites{roll: snapshot.Nodes}, snapshot.Nodes.Seats()
	judge, promised := d.judge(snapshot, asked), d.Decisions.promised(asked.Ref.UID)
	for i, name := range nodes {
		seat := seats.Next(growth.NodeName(name))
		seen.add(name, seat)
		misfit := judge.of(seat).Misfit
		if misfit != nil && name == promised.node && promised.kept(seat.Node, asked) {
			misfit = nil
		}
		found.Misfits[i] = misfit
	}
	d.Decisions.filtered(asked, seen)
	d.Log.Debug("filtered", "pod", asked.Ref, "asked", len(nodes))
	return found, nil
}
