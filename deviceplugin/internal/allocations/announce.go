package allocations

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

const (
	announceWithin = 5 * time.Second
	announceAgain  = 2 * time.Second
)

// Inventory is what GPUs there are, and a channel that is closed when that changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
}

// Audience tells whether kubelet listens to the device plugin, with a channel that is closed when that changes.
type Audience interface {
	Heard() (bool, <-chan struct{})
}

// Announcer publishes the node's GPUs, and whether kubelet listens, for as long as this process lives.
type Announcer struct {
	Node      growth.NodeName
	Unit      growth.MiB
	Resource  string
	Emulated  bool
	Inventory Inventory
	Audience  Audience
	Bus       Bus
	// Ready returns when the node may be offered: what pods hold there that others started is on the bus. Nil for at once.
	Ready func(context.Context) error
	Log   *slog.Logger
}

// Run publishes now and at each change, until ctx ends.
func (a Announcer) Run(ctx context.Context) error {
	if a.Ready != nil && a.Ready(ctx) != nil {
		return nil // ctx has ended
	}
	for ctx.Err() == nil {
		devices, changed := a.Inventory.Devices()
		heard, turned := a.Audience.Heard()
		again := time.After(announceAgain)
		if err := a.publish(ctx, devices, heard); err != nil {
			a.Log.Warn("the node's GPUs could not be published", "reason", err)
		} else {
			again = nil
		}
		select {
		case <-changed:
		case <-turned:
		case <-again:
		case <-ctx.Done():
		}
	}
	return nil
}

func (a Announcer) publish(ctx context.Context, devices []gpu.Device, heard bool) error {
	value, err := bus.Encode(a.record(devices, heard))
	if err != nil {
		return fmt.Errorf("encoding the inventory: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, announceWithin)
	defer cancel()
	_, err = a.Bus.Put(ctx, bus.GPUsKey(a.Node), value, bus.Ephemeral)
	return err
}

func (a Announcer) record(devices []gpu.Device, heard bool) bus.NodeGPUs {
	record := bus.NodeGPUs{
		Unit:     a.Unit,
		Resource: a.Resource,
		Emulated: a.Emulated,
		Unheard:  !heard,
		GPUs:     make([]bus.GPU, len(devices)),
	}
	for i, d := range devices {
		record.GPUs[i] = bus.GPU{
			UUID:    d.UUID,
			Model:   d.Model,
			Memory:  d.Memory,
			Healthy: d.Healthy,
		}
	}
	return record
}
