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
	Computes  bool
	MPS       bool
	Inventory Inventory
	Streams   StreamTracker
	Bus       Bus
	// Ready returns when the node may be published: the allocations of imported pods are on the bus. Nil publishes at
	// once.
	Ready func(context.Context) error
	Log   *slog.Logger
}

// Run publishes at the start and after each change, until ctx ends.
func (p Publisher) Run(ctx context.Context) error {
	if p.Ready != nil && p.Ready(ctx) != nil {
		return nil // ctx has ended
	}
	for ctx.Err() == nil {
		devices, changed := p.Inventory.Devices()
		connected, streamsChanged := p.Streams.Connected()
		retry := time.After(publishRetry)
		if err := p.publish(ctx, devices, connected); err != nil {
			p.Log.Warn("the node's GPUs could not be published", "err", err)
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

func (p Publisher) publish(ctx context.Context, devices []gpu.Device, connected bool) error {
	value, err := bus.Encode(p.record(devices, connected))
	if err != nil {
		return fmt.Errorf("encoding the inventory: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	_, err = p.Bus.Put(ctx, bus.GPUsKey(p.Node), value, bus.Ephemeral)
	return err
}

func (p Publisher) record(devices []gpu.Device, connected bool) bus.NodeGPUs {
	record := bus.NodeGPUs{
		Unit:     p.Unit,
		Resource: p.Resource,
		Emulated: p.Emulated,
		Computes: p.Computes,
		MPS:      p.MPS,
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
