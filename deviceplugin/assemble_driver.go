package main

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/usage"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const (
	// meterInterval is the time between two measurements of GPU memory.
	meterInterval = 15 * time.Second
	// recordInterval is the time between two records of how long pods use the GPUs. The driver keeps samples for longer.
	recordInterval = 2 * time.Second
)

// addDriver adds the parts that need NVIDIA's driver: its error events, and what pods use of the GPUs.
func (p *parts) addDriver() {
	if p.inventory.driver == nil {
		return
	}
	listener := &gpuhealth.Listener{
		Source:    p.inventory.driver,
		Monitor:   p.monitor,
		Inventory: p.inventory,
		Store:     p.faults,
		XIDs:      gpuhealth.NewXIDs(p.registry),
		Log:       p.log,
	}
	meter := &usage.Meter{
		Driver:      p.inventory.driver,
		Proc:        usage.Proc(p.config.Proc),
		Allocations: p.allocations.Allocations,
		Detector:    &usage.ExcessDetector{Config: excessConfig(p.config)},
		API:         p.client,
		Log:         p.log,
	}
	recorder := &usage.Recorder{
		Driver:      p.inventory.driver,
		Proc:        usage.Proc(p.config.Proc),
		StateDir:    p.config.StateDir,
		Allocations: p.allocations.Allocations,
		Uses:        meter.Uses,
		Log:         p.log,
	}
	p.registry.MustRegister(meter)
	p.group.Add(
		listener.Run,
		func(ctx context.Context) error { return meter.Run(ctx, meterInterval) },
		func(ctx context.Context) error { return recorder.Run(ctx, recordInterval) },
	)
}

// excessConfig configures when a pod that uses more GPU memory than it requested gets a warning event, and when it is
// evicted.
func excessConfig(c *config.Config) usage.Config {
	excess := usage.Config{
		WarnAfter:    30 * time.Second,
		WarnInterval: 30 * time.Minute,
		EvictAfter:   2 * time.Minute,
	}
	excess.Slack, _ = gpushare.ParseMemory(c.ExcessSlack) // validated
	if c.OnExcess == config.ExcessWarn {
		excess.EvictAfter = 0
	}
	return excess
}
