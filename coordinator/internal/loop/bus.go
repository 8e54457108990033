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

// FollowJobs follows the tuner's advice until ctx ends. It reads this node's samples once, at the start.
func (l *Loop) FollowJobs(ctx context.Context, b Watcher, name growth.NodeName) {
	mirror := bus.Mirror[bus.Advice]{Decode: func(e bus.Entry) (bus.Advice, error) {
		return bus.Decode[bus.Advice](e.Value)
	}}
	first := true
	for batch := range b.Watch(ctx, bus.Jobs) {
		advice, samples := split(batch)
		view := mirror.Apply(advice)
		l.logRefused(advice, view.Undecodable)
		var past []bus.Sample
		if first && batch.Reset {
			past, first = samplesOf(samples, name), false
		}
		if len(past) == 0 && len(advice.Entries) == 0 && !batch.Reset {
			continue // a sample of some coordinator
		}
		changed := node.AdviceChanged{Advice: adviceByPod(view)}
		l.post(func() {
			if len(past) > 0 {
				l.step(node.SamplesRestored{Samples: past})
			}
			l.step(changed)
		})
	}
}

// split separates advice from samples, which are many, change often and mostly belong to other nodes.
func split(batch bus.Batch) (advice bus.Batch, samples []bus.Entry) {
	advice = batch
	advice.Entries = nil
	for _, e := range batch.Entries {
		switch key, err := bus.ParseKey(e.Key); {
		case err != nil:
		case key.Kind == bus.KindAdvice:
			advice.Entries = append(advice.Entries, e)
		case key.Kind == bus.KindSample:
			samples = append(samples, e)
		}
	}
	return advice, samples
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

func adviceByPod(view *bus.View[bus.Advice]) map[growth.PodUID]bus.Advice {
	advice := make(map[growth.PodUID]bus.Advice, len(view.Values))
	for text, a := range view.Values {
		if key, err := bus.ParseKey(text); err == nil {
			advice[key.Pod] = a
		}
	}
	return advice
}

// logRefused logs the records of a batch that this build cannot read, once each time they are written.
func (l *Loop) logRefused(batch bus.Batch, refused map[string]error) {
	for _, e := range batch.Entries {
		if err := refused[e.Key]; err != nil {
			l.log.Error("a record on the bus is ignored", "key", e.Key, "err", err)
		}
	}
}
