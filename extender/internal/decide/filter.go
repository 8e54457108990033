package decide

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/extender/internal/view"
	"github.com/trellis-gpu/trellis/growth"
)

// Filtered is what Filter found: what each of the nodes is to the pod, in the order in which it was asked about them.
type Filtered struct {
	Nodes    []string
	Verdicts []*view.Verdict

	from *slates
}

// Release says that the verdicts are not needed any more: their list is used again.
func (f Filtered) Release() {
	if f.from != nil {
		f.from.give(f.Verdicts)
	}
}

// Fit are the nodes with room.
func (f Filtered) Fit() []string {
	fit := make([]string, 0, len(f.Nodes))
	for i, verdict := range f.Verdicts {
		if verdict.Fits() {
			fit = append(fit, f.Nodes[i])
		}
	}
	return fit
}

// Refused are the nodes without room, and why: now, or hopelessly, for they would have none if they were empty.
func (f Filtered) Refused(hopelessly bool) map[string]string {
	refused := map[string]string{}
	for i, verdict := range f.Verdicts {
		if !verdict.Fits() && verdict.Hopeless == hopelessly {
			refused[f.Nodes[i]] = verdict.Reason
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
	found := Filtered{Nodes: nodes, Verdicts: d.slates.take(len(nodes)), from: &d.slates}
	asked, asks := request.Read(pod, d.Resource)
	welcome := &view.Verdict{}
	if !asks {
		for i := range found.Verdicts {
			found.Verdicts[i] = welcome
		}
		return found, nil
	}
	seen, seats := sites{roll: snapshot.Nodes}, snapshot.Nodes.Seats()
	judge, promised := d.judge(snapshot, asked), d.Decisions.promised(asked.Ref.UID)
	for i, name := range nodes {
		seat := seats.Next(growth.NodeName(name))
		seen.add(name, seat)
		found.Verdicts[i] = judge.of(seat)
		if name == promised.node && !found.Verdicts[i].Fits() && promised.kept(seat.Node, asked) {
			found.Verdicts[i] = welcome
		}
	}
	d.Decisions.filtered(asked, seen)
	d.Log.Debug("filtered", "pod", asked.Ref, "asked", len(nodes))
	return found, nil
}
