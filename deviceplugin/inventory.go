package main

import (
	"context"
	"log/slog"
	"time"

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

// stocked is the inventory with how it was come by.
type stocked struct {
	*gpu.Inventory
	unit     growth.MiB
	resource string
	emulated bool
	// driver is nil for emulated GPUs.
	driver gpu.Driver
}

// inventory opens the source that was chosen and lists it once, before judges.
func inventory(ctx context.Context, c config, log *slog.Logger, judges ...gpu.HealthCheck) (*stocked, error) {
	unit, err := c.unit()
	if err != nil {
		return nil, err
	}
	s := &stocked{unit: unit, resource: c.resource}
	emulated, ok, err := gpu.ParseEmulated(c.gpus, growth.NodeName(c.node))
	if err != nil {
		return nil, err
	}
	var source gpu.Source = emulated
	if s.emulated = ok; ok {
		log.Warn("GPUs are emulated: no driver stands behind them", "gpus", c.gpus)
	} else {
		if s.driver, err = nvml.Open(); err != nil {
			return nil, err
		}
		source = &gpu.TimeoutSource{Source: s.driver, Timeout: driverWithin}
	}
	if s.Inventory, err = gpu.Open(ctx, source, unit, log, judges...); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// version is the driver's, empty for emulated GPUs.
func (s *stocked) version() string {
	if s.driver == nil {
		return ""
	}
	return s.driver.Version()
}

func (s *stocked) close() {
	if s.driver != nil {
		s.driver.Close()
	}
}
