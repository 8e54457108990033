package main

import (
	"context"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpuhealth"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/usage"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// meterInterval is the time between two measurements of the use of real GPUs.
const meterInterval = 15 * time.Second

// addDriver adds the parts that need NVIDIA's driver: its error events, and the memory that pods use.
func (a *app) addDriver() {
	if a.inventory.driver == nil {
		return
	}
	listener := &gpuhealth.Listener{
		Source:    a.inventory.driver,
		Monitor:   a.monitor,
		Inventory: a.inventory,
		Store:     a.faults,
		XIDs:      gpuhealth.NewXIDs(a.registry),
		Log:       a.log,
	}
	meter := &usage.Meter{
		Driver:      a.inventory.driver,
		Proc:        usage.Proc(a.config.Proc),
		Allocations: a.allocations.Allocations,
		Detector:    &usage.ExcessDetector{Config: excessConfig(a.config)},
		API:         a.client,
		Log:         a.log,
	}
	a.registry.MustRegister(meter)
	a.group.Add(listener.Run, func(ctx context.Context) error { return meter.Run(ctx, meterInterval) })
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
