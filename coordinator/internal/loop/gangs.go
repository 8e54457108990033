package loop

import (
	"context"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
)

// FollowGangs follows what other nodes say about their ranks of jobs on several nodes, until ctx ends. While the bus is
// unavailable, what they said last counts.
func (l *Loop) FollowGangs(ctx context.Context, b Watcher, self growth.NodeName) {
	mirror := bus.Mirror[bus.GangRanks]{Decode: func(e bus.Entry) (bus.GangRanks, error) {
		return bus.Decode[bus.GangRanks](e.Value)
	}}
	for batch := range b.Watch(ctx, bus.Gangs) {
		view := mirror.Apply(batch)
		l.logRefused(batch, view.Undecodable)
		if batch.Err != nil {
			continue
		}
		event := node.GangsChanged{Self: self, Others: map[string]map[growth.NodeName]bus.GangRanks{}}
		for text, said := range view.Values {
			key, err := bus.ParseKey(text)
			if err != nil || key.Node == self {
				continue
			}
			if event.Others[key.Name] == nil {
				event.Others[key.Name] = map[growth.NodeName]bus.GangRanks{}
			}
			event.Others[key.Name][key.Node] = said
		}
		l.post(func() { l.step(event) })
	}
}
