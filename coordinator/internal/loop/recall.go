package loop

import (
	"context"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/programs"
)

// recall starts to follow what other nodes have learned about a job's program.
func (l *Loop) recall(of node.Recall) {
	if l.ports.Models == nil {
		return
	}
	ctx, stop := context.WithCancel(l.ctx)
	if before := l.recalls[of.Pod.UID]; before != nil {
		before()
	}
	l.recalls[of.Pod.UID] = stop
	go l.followProgram(ctx, of)
}

// followProgram follows the models of a job's program until ctx ends: that of its namespace, and the one that namespaces
// share. While the bus is unavailable the last runs stay.
func (l *Loop) followProgram(ctx context.Context, of node.Recall) {
	own := programModel{id: of.Program}
	shared := programModel{id: of.Program.In(programs.Shared)}
	ownBatches := l.ports.Models.Watch(ctx, bus.ProgramKey(own.id))
	sharedBatches := l.ports.Models.Watch(ctx, bus.ProgramKey(shared.id))
	for {
		var open bool
		var batch bus.Batch
		select {
		case batch, open = <-ownBatches:
			l.apply(&own, batch, of)
		case batch, open = <-sharedBatches:
			l.apply(&shared, batch, of)
		}
		if !open {
			return
		}
		if batch.Err != nil {
			continue
		}
		event := node.RunsProvided{Pod: of.Pod.UID, Runs: own.runs}
		if len(shared.runs) > 0 {
			event.Runs = shared.runs
		}
		l.post(func() { l.step(event) })
	}
}

// programModel is one model of a program with its usable runs.
type programModel struct {
	id     programs.ID
	mirror bus.Mirror[bus.ProgramModel]
	runs   []programs.Run
}

// apply applies a batch to a model. A model that this build cannot read, or that the job may not read, has no runs.
func (l *Loop) apply(m *programModel, batch bus.Batch, of node.Recall) {
	if batch.Err != nil {
		return
	}
	m.mirror.Decode = func(e bus.Entry) (bus.ProgramModel, error) { return bus.Decode[bus.ProgramModel](e.Value) }
	view := m.mirror.Apply(batch)
	l.logRefused(batch, view.Undecodable)
	m.runs = nil
	record, found := view.Values[bus.ProgramKey(m.id)]
	if !found || !record.ReadableBy(m.id, of.Pod.Namespace) {
		return
	}
	if refused := record.Validate(); len(refused) > 0 {
		l.log.Warn("invalid runs of a program are ignored", "program", m.id, "count", len(refused), "err", refused[0])
	}
	m.runs = record.Usable()
}
