package mover

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// Place returns where a pod may run at present: see move.Record.Place. Before the records are known, a pod with an owner waits: it
// may continue the job of a pod that has not ended yet.
func (m *Mover) Place(p move.Identity) move.Place {
	going := m.active.Load()
	if going == nil {
		return move.Place{Unknown: p.Owner != ""}
	}
	return m.place(p, *going)
}

func (m *Mover) place(p move.Identity, going []active) move.Place {
	for _, a := range going {
		if !a.record.Continues(p) {
			continue
		}
		place := a.record.Place(m.gone(a.record))
		if place.Only != "" && a.record.Checkpoint != nil && p.Carries != a.record.ID {
			return move.Place{Unready: true} // handOver is about to change that
		}
		return place
	}
	return move.Place{}
}

// gone reports whether the old pod of a move is gone. In a gang no old pod may run, and one that starts again on its node finds its
// memory free there.
func (m *Mover) gone(r move.Record) bool {
	snapshot := m.Cluster.Snapshot()
	if r.Gang == nil {
		_, exists := snapshot.Pods.Get(r.Old)
		return !exists
	}
	for _, uid := range r.Gang.Pods {
		if pod, exists := snapshot.Pods.Get(uid); exists && !pod.Ended {
			return false
		}
	}
	node := snapshot.Node(r.From)
	if r.To != r.From || node == nil {
		return true
	}
	_, allocated := node.Allocations[r.Old]
	return !allocated
}

// Confirm is Place by the present records: another replica may have begun a move after the last pass of this one. Bind asks it.
func (m *Mover) Confirm(ctx context.Context, ref growth.PodRef) (move.Place, error) {
	entries, _, err := m.Bus.List(ctx, bus.Moves)
	if err != nil {
		return move.Place{}, nil // no replica moves a job without the bus; Filter knows the moves up to now
	}
	var going []active
	for _, entry := range entries {
		record, err := bus.Decode[bus.Move](entry.Value)
		if err == nil && !record.Move.State.Final() && record.Move.Next.Namespace == ref.Namespace {
			going = append(going, active{record.Pod, record.Move})
		}
	}
	if len(going) == 0 {
		return move.Place{}, nil
	}
	pod, err := m.Client.CoreV1().Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return move.Place{}, nil // Bind finds out
	}
	if err != nil {
		return move.Place{}, err
	}
	return m.place(request.Identity(pod), going), nil
}
