package gpu

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Stock is the inventory as it is known now. It changes only through its own loop.
type Stock struct {
	source Source
	unit   growth.MiB
	log    *slog.Logger

	mu      sync.Mutex
	devices []Device
	changed chan struct{} // closed at the next change
	failing bool
}

// Open asks the source once: a node whose GPUs can not be listed at the start advertises nothing, and says why.
func Open(ctx context.Context, source Source, unit growth.MiB, log *slog.Logger) (*Stock, error) {
	devices, err := source.Devices(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing GPUs: %w", err)
	}
	devices = Merge(nil, devices)
	if err := Check(devices, unit); err != nil {
		return nil, err
	}
	return &Stock{source: source, unit: unit, log: log, devices: devices, changed: make(chan struct{})}, nil
}

// Devices returns the present list, and a channel that is closed when there is another.
func (s *Stock) Devices() ([]Device, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.devices), s.changed
}

// Failing tells whether the source failed when it was last asked: the list ages.
func (s *Stock) Failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

// Run asks the source again and again until ctx ends.
func (s *Stock) Run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Refresh(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// Refresh asks the source once.
func (s *Stock) Refresh(ctx context.Context) {
	now, err := s.source.Devices(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err != nil
	if err != nil {
		s.log.Warn("GPUs could not be listed, the last list stays", "reason", err)
		return
	}
	merged := Merge(s.devices, now)
	if err := Check(merged, s.unit); err != nil {
		s.failing = true
		s.log.Warn("a list of GPUs makes no sense, the last one stays", "reason", err)
		return
	}
	if slices.Equal(merged, s.devices) {
		return
	}
	for _, d := range merged {
		if !slices.Contains(s.devices, d) {
			s.log.Info("a GPU changed", "gpu", d.UUID, "healthy", d.Healthy, "memory", d.Memory.String(), "reason", d.Reason)
		}
	}
	s.devices = merged
	close(s.changed)
	s.changed = make(chan struct{})
}
