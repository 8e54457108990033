package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu/nvml"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// stocked is the inventory with how it was come by.
type stocked struct {
	*gpu.Stock
	unit     growth.MiB
	resource string
	emulated bool
	close    func()
}

// inventory opens the source that was chosen and lists it once.
func inventory(ctx context.Context, c config, log *slog.Logger) (*stocked, error) {
	unit, err := c.unit()
	if err != nil {
		return nil, err
	}
	s := &stocked{unit: unit, resource: c.resource, close: func() {}}
	emulated, ok, err := gpu.ParseEmulated(c.gpus, growth.NodeName(c.node))
	if err != nil {
		return nil, err
	}
	var source gpu.Source = emulated
	if s.emulated = ok; ok {
		log.Warn("GPUs are emulated: no driver stands behind them", "gpus", c.gpus)
	} else if source, s.close, err = nvml.Open(); err != nil {
		return nil, err
	}
	if s.Stock, err = gpu.Open(ctx, source, unit, log); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// print says what would be advertised.
func (s *stocked) print(w io.Writer) error {
	devices, _ := s.Devices()
	total := 0
	for _, d := range devices {
		units := slice.Units(d.Memory, s.unit)
		health := "healthy"
		if !d.Healthy {
			health = "unhealthy: " + d.Reason
		}
		total += units
		if _, err := fmt.Fprintf(w, "%s  %s  %s  %d units, %s to %s  %s\n",
			d.UUID, d.Model, d.Memory, units, slice.ID(d.UUID, 0), slice.ID(d.UUID, units-1), health); err != nil {
			return err
		}
	}
	kind := ""
	if s.emulated {
		kind = ", emulated"
	}
	_, err := fmt.Fprintf(w, "%s: %d of %s each on %d GPUs%s\n", s.resource, total, s.unit, len(devices), kind)
	return err
}
