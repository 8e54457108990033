package mover

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/move"
)

// keptOrigin is how long a new pod may wait for its node, and its coordinator for the bus, without the job being new to them.
const keptOrigin = time.Hour

// carry keeps what the old node has published about a job, for the node on which the job continues. Its coordinator deletes the sample
// with the pod, so the record of the move has it meanwhile. It returns the write of the origin once the new pod is known.
func (m *Mover) carry(ctx context.Context, record *bus.Move, before move.Record, s seen, now time.Time) ([]bus.Write, error) {
	r := record.Move
	if r.State == move.Saved && before.State != move.Saved {
		sample, err := m.lastSample(ctx, r, now)
		record.Sample = sample
		return nil, err
	}
	next := r.New
	if next == "" && r.State == move.Aborted && r.Gone && s.successor != nil {
		next = growth.PodUID(s.successor.UID)
	}
	origin := record.Sample
	if next != "" || r.State.Final() {
		record.Sample = nil
	}
	if next == "" || origin == nil {
		return nil, nil
	}
	return []bus.Write{{Key: bus.OriginKey(next), Value: origin, Lifetime: bus.Lifetime{TTL: keptOrigin}}}, nil
}

// lastSample returns the sample of a pod whose job has saved, with that checkpoint; nil if it has none.
func (m *Mover) lastSample(ctx context.Context, r move.Record, now time.Time) ([]byte, error) {
	sample, err := m.sample(ctx, r.Old)
	if err != nil || sample.Pod.UID != r.Old {
		return nil, err
	}
	if c := sample.Checkpoint; c == nil || c.SHA256 != r.Checkpoint.SHA256 {
		sample.Checkpoint = &bus.Checkpoint{Path: r.Checkpoint.Path, SHA256: r.Checkpoint.SHA256, Step: r.Checkpoint.Step, At: now}
	}
	return bus.Encode(sample)
}
