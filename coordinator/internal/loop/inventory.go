package loop

import (
	"context"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
)

// FollowInventory follows what the device plugin publishes about the GPUs of this node, until ctx ends. Without a record,
// such as while the device plugin restarts, the last one counts.
func (l *Loop) FollowInventory(ctx context.Context, b Watcher, name growth.NodeName) {
	key := bus.GPUsKey(name)
	mirror := bus.Mirror[bus.NodeGPUs]{Decode: func(e bus.Entry) (bus.NodeGPUs, error) {
		return bus.Decode[bus.NodeGPUs](e.Value)
	}}
	for batch := range b.Watch(ctx, key) {
		view := mirror.Apply(batch)
		l.logRefused(batch, view.Undecodable)
		if inventory, ok := view.Values[key]; ok {
			event := node.InventoryChanged{
				Computes: !inventory.Emulated || inventory.Computes,
				MPS:      inventory.MPS,
			}
			l.post(func() { l.step(event) })
		}
	}
}
