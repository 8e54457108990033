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
	publishTimeout = 5 * time.Second
	publishRetry   = 2 * time.Second
)

// Inventory lists the GPUs. The channel is closed when the list changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
}

// StreamTracker reports whether kubelet is connected to the device plugin. The channel is closed when that changes.
type StreamTracker interface {
	Connected() (bool, <-chan struct{})
}

// Publisher publishes the node's GPUs, and whether kubelet is connected, with the lifetime of this process.
type Publisher struct {
	Node      growth.NodeName
	Unit      growth.MiB
	Resource  string
	Emulated  bool
	Inventory Inventory
	Streams   StreamTracker
	Bus       Bus
	// Ready returns when the node may be published: the allocations of imported pods are on the bus. Nil publishes at
	// once.
	Ready func(context.Context) error
	Log   *slog.Logger
}

// Run publishes at the start and after each change, until ctx ends.
func (a Publisher) Run(ctx context.Context) error {
	if a.Ready != nil && a.Ready(ctx) != nil {
		return nil // ctx has ended
	}
	for ctx.Err() == nil {
		devices, changed := a.Inventory.Devices()
		connected, streamsChanged := a.Streams.Connected()
		retry := time.After(publishRetry)
		if err := a.publish(ctx, devices, connected); err != nil {
			a.Log.Warn("the node's GPUs could not be published", "err", err)
		} else {
			retry = nil
		}
		select {
		case <-changed:
		case <-streamsChanged:
		case <-retry:
		case <-ctx.Done():
		}
	}
	return nil
}

func (a Publisher) publish(ctx context.Context, devices []gpu.Device, connected bool) error {
	value, err := bus.Encode(a.record(devices, connected))
	if err != nil {
		return fmt.Errorf("encoding the inventory: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	_, err = a.Bus.Put(ctx, bus.GPUsKey(a.Node), value, bus.Ephemeral)
	return err
}

func (a Publisher) record(devices []gpu.Device, connected bool) bus.NodeGPUs {
	record := bus.NodeGPUs{
		Unit:     a.Unit,
		Resource: a.Resource,
		Emulated: a.Emulated,
		Unheard:  !connected,
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
