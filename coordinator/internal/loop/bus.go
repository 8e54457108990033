package loop

import (
	"context"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// FollowAllocations keeps up with what kubelet has given to pods of this node, until ctx ends.
func (l *Loop) FollowAllocations(ctx context.Context, b Watcher, node growth.NodeName) {
	mirror := bus.Mirror[bus.Allocation]{Decode: func(e bus.Entry) (bus.Allocation, error) {
		return bus.Decode[bus.Allocation](e.Value)
	}}
	for batch := range b.Watch(ctx, bus.AllocationsPrefix(node)) {
		view := mirror.Apply(batch)
		l.unread(batch, view.Undecodable)
		l.post(func() {
			l.allocations = view
			l.syncSlots()
			for _, uid := range slices.Sorted(maps.Keys(l.placed)) {
				l.amend(l.placed[uid])
			}
		})
	}
}

// FollowJobs keeps up with the tuner's advice, and takes up what the bus still knows of our own samples.
func (l *Loop) FollowJobs(ctx context.Context, b Watcher, node growth.NodeName) {
	mirror := bus.Mirror[bus.Advice]{Decode: func(e bus.Entry) (bus.Advice, error) {
		return bus.Decode[bus.Advice](e.Value)
	}}
	first := true
	for batch := range b.Watch(ctx, bus.Jobs) {
		advice, samples := parted(batch)
		view := mirror.Apply(advice)
		l.unread(advice, view.Undecodable)
		var past []bus.Sample
		if first && batch.Reset {
			past, first = ours(samples, node), false
		}
		if len(past) == 0 && len(advice.Entries) == 0 && !batch.Reset {
			continue // somebody's sample
		}
		l.post(func() { l.jobsChanged(view, past) })
	}
}

// parted separates advice from samples, which are many, change often and are mostly other nodes'.
func parted(batch bus.Batch) (advice bus.Batch, samples []bus.Entry) {
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

func ours(entries []bus.Entry, node growth.NodeName) []bus.Sample {
	var samples []bus.Sample
	for _, e := range entries {
		if s, err := bus.Decode[bus.Sample](e.Value); err == nil && s.Node == node {
			samples = append(samples, s)
		}
	}
	return samples
}

func (l *Loop) jobsChanged(view *bus.View[bus.Advice], past []bus.Sample) {
	l.advice = view
	for _, s := range past {
		l.past[s.Pod.UID] = s
	}
	for _, j := range l.sorted() {
		if _, known := l.past[j.pod.Ref.UID]; known && j.reading.Samples == 0 {
			l.resume(j)
			l.deliver(j) // a gate that was left closed
			l.interrupt("resumed", false)
		}
		if a, ok := view.Values[bus.AdviceKey(j.pod.Ref.UID)]; ok && a.Generation != j.advice.Generation {
			l.deliver(j)
		}
	}
}

// unread logs the records of a batch that this build can not read, once each time they are written.
func (l *Loop) unread(batch bus.Batch, refused map[string]error) {
	for _, e := range batch.Entries {
		if err := refused[e.Key]; err != nil {
			l.log.Error("a record on the bus is left alone", "key", e.Key, "reason", err)
		}
	}
}
