package loop

import (
	"context"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
)

// FollowAllocations follows what kubelet has allocated to pods of this node, until ctx ends.
func (l *Loop) FollowAllocations(ctx context.Context, b Watcher, name growth.NodeName) {
	mirror := bus.Mirror[bus.Allocation]{Decode: func(e bus.Entry) (bus.Allocation, error) {
		return bus.Decode[bus.Allocation](e.Value)
	}}
	for batch := range b.Watch(ctx, bus.AllocationsPrefix(name)) {
		view := mirror.Apply(batch)
		l.logRefused(batch, view.Undecodable)
		event := node.AllocationsChanged{Synced: view.Synced}
		for _, key := range slices.Sorted(maps.Keys(view.Values)) {
			event.Allocations = append(event.Allocations, view.Values[key])
		}
		l.post(func() { l.step(event) })
	}
}

// FollowJobs follows the tuner's advice, and what was known of jobs before they moved, until ctx ends. It reads this node's samples
// once, at the start.
func (l *Loop) FollowJobs(ctx context.Context, b Watcher, name growth.NodeName) {
	mirror := bus.Mirror[bus.Advice]{Decode: func(e bus.Entry) (bus.Advice, error) {
		return bus.Decode[bus.Advice](e.Value)
	}}
	moved := bus.Mirror[bus.Sample]{Decode: func(e bus.Entry) (bus.Sample, error) {
		return bus.Decode[bus.Sample](e.Value)
	}}
	first := true
	for batch := range b.Watch(ctx, bus.Jobs) {
		advice, origins, samples := split(batch)
		view, before := mirror.Apply(advice), moved.Apply(origins)
		l.logRefused(advice, view.Undecodable)
		l.logRefused(origins, before.Undecodable)
		var past []bus.Sample
		if first && batch.Reset {
			past, first = samplesOf(samples, name), false
		}
		changed := len(origins.Entries) > 0 || batch.Reset
		if len(past) == 0 && len(advice.Entries) == 0 && !changed {
			continue // a sample of some coordinator
		}
		advised, known := node.AdviceChanged{Advice: byPod(view)}, node.OriginsChanged{Origins: byPod(before)}
		l.post(func() {
			if len(past) > 0 {
				l.step(node.SamplesRestored{Samples: past})
			}
			if changed {
				l.step(known)
			}
			l.step(advised)
		})
	}
}

// split separates advice and origins from samples, which are many, change often and mostly belong to other nodes.
func split(batch bus.Batch) (advice, origins bus.Batch, samples []bus.Entry) {
	entries := batch.Entries
	batch.Entries = nil
	advice, origins = batch, batch
	for _, e := range entries {
		switch key, err := bus.ParseKey(e.Key); {
		case err != nil:
		case key.Kind == bus.KindAdvice:
			advice.Entries = append(advice.Entries, e)
		case key.Kind == bus.KindOrigin:
			origins.Entries = append(origins.Entries, e)
		case key.Kind == bus.KindSample:
			samples = append(samples, e)
		}
	}
	return advice, origins, samples
}

func samplesOf(entries []bus.Entry, name growth.NodeName) []bus.Sample {
	var samples []bus.Sample
	for _, e := range entries {
		if s, err := bus.Decode[bus.Sample](e.Value); err == nil && s.Node == name {
			samples = append(samples, s)
		}
	}
	return samples
}

// byPod returns the records of a view by the pods that their keys name.
func byPod[T any](view *bus.View[T]) map[growth.PodUID]T {
	records := make(map[growth.PodUID]T, len(view.Values))
	for text, record := range view.Values {
		if key, err := bus.ParseKey(text); err == nil {
			records[key.Pod] = record
		}
	}
	return records
}

// logRefused logs the records of a batch that this build cannot read, once each time they are written.
func (l *Loop) logRefused(batch bus.Batch, refused map[string]error) {
	for _, e := range batch.Entries {
		if err := refused[e.Key]; err != nil {
			l.log.Error("a record on the bus is ignored", "key", e.Key, "err", err)
		}
	}
}
