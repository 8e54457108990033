package gpu

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
)

// HealthCheck overrides the health that the driver reports. It may mark healthy devices unhealthy and the reverse.
type HealthCheck interface {
	// Observe receives the known devices, or the error of the list. It returns true if the list should be repeated
	// soon.
	Observe(now time.Time, devices []Device, err error) (recheck bool)
	// Apply returns the devices with this check's health.
	Apply(now time.Time, devices []Device) []Device
}

// Inventory is the current list of GPUs. It is safe for concurrent use.
type Inventory struct {
	source Source
	unit   growth.MiB
	checks []HealthCheck
	log    *slog.Logger
	wake   chan struct{}

	mu           sync.Mutex
	listed       []Device // as the driver reports them
	devices      []Device // after the health checks
	pendingSizes map[growth.GPU]growth.MiB
	changed      chan struct{} // closed at the next change
	failing      bool
	recheck      bool
}

// Open lists the GPUs once. It fails if they cannot be listed, since the node would then advertise nothing.
func Open(
	ctx context.Context, source Source, unit growth.MiB, log *slog.Logger, checks ...HealthCheck,
) (*Inventory, error) {
	devices, err := source.Devices(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing GPUs: %w", err)
	}
	devices = Merge(nil, devices)
	if err := Validate(devices, unit); err != nil {
		return nil, err
	}
	s := &Inventory{
		source:       source,
		unit:         unit,
		checks:       checks,
		log:          log,
		wake:         make(chan struct{}, 1),
		listed:       devices,
		pendingSizes: map[growth.GPU]growth.MiB{},
		changed:      make(chan struct{}),
	}
	s.observe(nil)
	s.devices = s.evaluate()
	return s, nil
}

// Devices returns the current list and a channel that is closed at the next change.
func (s *Inventory) Devices() ([]Device, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.devices), s.changed
}

// Failing reports whether the last list failed, so that Devices is out of date.
func (s *Inventory) Failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

// Run lists the GPUs at every interval until ctx ends, or at recheckInterval while a health check asks for it.
func (s *Inventory) Run(ctx context.Context, interval, recheckInterval time.Duration) error {
	for {
		next := interval
		if s.needsRecheck() {
			next = recheckInterval
		}
		select {
		case <-time.After(next):
			s.Refresh(ctx)
		case <-s.wake:
			s.reevaluate()
		case <-ctx.Done():
			return nil
		}
	}
}

// Reevaluate requests another evaluation of the health checks.
func (s *Inventory) Reevaluate() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Inventory) needsRecheck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recheck || len(s.pendingSizes) > 0
}

// Refresh lists the GPUs once.
func (s *Inventory) Refresh(ctx context.Context) {
	now, err := s.source.Devices(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	merged := s.listed
	if err == nil {
		merged = Merge(s.listed, s.confirmSizes(now))
		err = Validate(merged, s.unit)
		if err != nil {
			err = fmt.Errorf("the list of GPUs is invalid: %w", err)
			merged = s.listed
		}
	}
	s.failing = err != nil
	if s.failing {
		s.log.Warn("GPUs could not be listed, the last list stays in use", "err", err)
	}
	s.listed = merged
	s.observe(err)
	s.update()
}

func (s *Inventory) reevaluate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update()
}

// confirmSizes accepts a new size only after two equal lists, and an invalid size never.
func (s *Inventory) confirmSizes(now []Device) []Device {
	now = slices.Clone(now)
	seen := map[growth.GPU]growth.MiB{}
	for i, d := range now {
		if err := slice.CheckSize(d.UUID, d.Memory, s.unit); err != nil && d.Memory != 0 {
			now[i].Memory = 0
			now[i].Healthy = false
			now[i].Reason = err.Error()
			continue
		}
		old := slices.IndexFunc(s.listed, func(known Device) bool { return known.UUID == d.UUID })
		if old < 0 || d.Memory <= 0 || d.Memory == s.listed[old].Memory || d.Memory == s.pendingSizes[d.UUID] {
			continue
		}
		seen[d.UUID] = d.Memory
		now[i].Memory = s.listed[old].Memory
	}
	s.pendingSizes = seen
	return now
}

func (s *Inventory) observe(err error) {
	s.recheck = false
	for _, j := range s.checks {
		s.recheck = j.Observe(time.Now(), slices.Clone(s.listed), err) || s.recheck
	}
}

func (s *Inventory) evaluate() []Device {
	devices := slices.Clone(s.listed)
	for _, j := range s.checks {
		devices = j.Apply(time.Now(), devices)
	}
	return devices
}

// update replaces the current list with the result of the health checks.
func (s *Inventory) update() {
	devices := s.evaluate()
	if equal(devices, s.devices) {
		return
	}
	for _, d := range devices {
		if !slices.ContainsFunc(s.devices, func(old Device) bool { return equal([]Device{old}, []Device{d}) }) {
			s.log.Info("a GPU changed", "gpu", d.UUID, "healthy", d.Healthy, "memory", d.Memory.String(), "reason",
				d.Reason)
		}
	}
	s.devices = devices
	close(s.changed)
	s.changed = make(chan struct{})
}
