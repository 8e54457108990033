package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/config"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu/nvml"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// listInterval is the time between two listings of the GPUs, recheckInterval while a health check asks for another
	// listing.
	listInterval    = 10 * time.Second
	recheckInterval = time.Second
	// firstListTimeout bounds the first listing, in which the driver may have to initialise many GPUs, and listTimeout each
	// later one. The startup probe of deploy/base/deviceplugin waits longer than the first.
	firstListTimeout = 2 * time.Minute
	listTimeout      = 5 * time.Second
)

// inventory is the list of the node's GPUs, with their source: the driver or an emulation.
type inventory struct {
	*gpu.Inventory
	unit     growth.MiB
	resource string
	emulated bool
	// computes is set for emulated GPUs that own cores.
	computes bool
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
	var source gpu.Source
	if ok {
		s.emulated, s.computes = true, emulated.Computes
		log.Warn("GPUs are emulated: there is no driver", "gpus", c.GPUs, "compute", s.computes)
		if source, err = ownCores(emulated); err != nil {
			return nil, err
		}
	} else {
		if s.driver, err = nvml.Open(); err != nil {
			return nil, err
		}
		source = &gpu.TimeoutSource{Source: s.driver, Timeout: listTimeout, First: firstListTimeout, Log: log}
	}
	if s.Inventory, err = gpu.Open(ctx, source, unit, log, checks...); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// ownCores gives each emulated GPU that computes one of the cores that this process may use: those of the node, unless
// kubelet reserves some for others.
func ownCores(e gpu.Emulated) (gpu.Emulated, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return e, fmt.Errorf("cores of this process: %w", err)
	}
	var cores []int
	for core := 0; len(cores) < set.Count(); core++ {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return e.Own(cores)
}

// version returns the driver's version, or "" for emulated GPUs.
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
