package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu/nvml"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// inventoryEvery is how often the driver is asked again, inventorySoon where something is in doubt.
	inventoryEvery = 10 * time.Second
	inventorySoon  = time.Second
	// driverWithin is how long the driver may take to list its GPUs.
	driverWithin = 5 * time.Second
)

// inventory is the GPUs of the node, with where they come from.
type inventory struct {
	*gpu.Inventory
	unit     growth.MiB
	resource string
	emulated bool
	// driver is nil for emulated GPUs.
	driver gpu.Driver
}

// openInventory opens the configured source and lists its GPUs once. The checks decide which GPUs are healthy.
func openInventory(ctx context.Context, c *config.Config, log *slog.Logger, checks ...gpu.HealthCheck) (*inventory, error) {
	unit, err := c.Unit()
	if err != nil {
		return nil, err
	}
	s := &inventory{unit: unit, resource: c.Resource}
	emulated, ok, err := gpu.ParseEmulated(c.GPUs, c.Node)
	if err != nil {
		return nil, err
	}
	var source gpu.Source = emulated
	if s.emulated = ok; ok {
		log.Warn("GPUs are emulated: no driver stands behind them", "gpus", c.GPUs)
	} else {
		if s.driver, err = nvml.Open(); err != nil {
			return nil, err
		}
		source = &gpu.TimeoutSource{Source: s.driver, Timeout: driverWithin}
	}
	if s.Inventory, err = gpu.Open(ctx, source, unit, log, checks...); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// version is the driver's, empty for emulated GPUs.
func (s *inventory) version() string {
	if s.driver == nil {
		return ""
	}
	return s.driver.Version()
}

func (s *inventory) close() {
	if s.driver != nil {
		s.driver.Close()
	}
}
