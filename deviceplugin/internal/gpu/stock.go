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

// Judge has a say in what is healthy. It may condemn what the driver lists as healthy, and ask for patience with
// what it does not.
type Judge interface {
	// Listed hears what the driver said of the known GPUs, or that it could not be asked. It tells whether something is
	// in doubt, so that the driver is to be asked again soon.
	Listed(now time.Time, devices []Device, err error) (doubt bool)
	// Judged returns the devices with its own view of their health.
	Judged(now time.Time, devices []Device) []Device
}

// Stock is the inventory as it is known now.
type Stock struct {
	source Source
	unit   growth.MiB
	judges []Judge
	log    *slog.Logger
	wake   chan struct{}

	mu       sync.Mutex
	listed   []Device // as the driver has them
	devices  []Device // as they are judged
	resized  map[growth.GPU]growth.MiB
	changed  chan struct{} // closed at the next change
	failing  bool
	doubtful bool
}

// Open asks the source once: a node whose GPUs can not be listed at the start advertises nothing, and says why.
func Open(ctx context.Context, source Source, unit growth.MiB, log *slog.Logger, judges ...Judge) (*Stock, error) {
	devices, err := source.Devices(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing GPUs: %w", err)
	}
	devices = Merge(nil, devices)
	if err := Check(devices, unit); err != nil {
		return nil, err
	}
	s := &Stock{
		source:  source,
		unit:    unit,
		judges:  judges,
		log:     log,
		wake:    make(chan struct{}, 1),
		listed:  devices,
		resized: map[growth.GPU]growth.MiB{},
		changed: make(chan struct{}),
	}
	s.hear(nil)
	s.devices = s.judged()
	return s, nil
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

// Run asks the source again and again until ctx ends: every so often, and within soon when something is in doubt.
func (s *Stock) Run(ctx context.Context, every, soon time.Duration) error {
	for {
		next := every
		if s.inDoubt() {
			next = soon
		}
		select {
		case <-time.After(next):
			s.Refresh(ctx)
		case <-s.wake:
			s.rejudge()
		case <-ctx.Done():
			return nil
		}
	}
}

// Rejudge lets the judges speak again, soon.
func (s *Stock) Rejudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Stock) inDoubt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubtful || len(s.resized) > 0
}

// Refresh asks the source once.
func (s *Stock) Refresh(ctx context.Context) {
	now, err := s.source.Devices(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	merged := s.listed
	if err == nil {
		merged = Merge(s.listed, s.confirmed(now))
		err = Check(merged, s.unit)
		if err != nil {
			err = fmt.Errorf("the list of GPUs makes no sense: %w", err)
			merged = s.listed
		}
	}
	s.failing = err != nil
	if s.failing {
		s.log.Warn("GPUs could not be listed, the last list stays", "reason", err)
	}
	s.listed = merged
	s.hear(err)
	s.settle()
}

func (s *Stock) rejudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
}

// confirmed believes a changed size only when two lists in a row agree on it, and an impossible one not at all.
func (s *Stock) confirmed(now []Device) []Device {
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
		if old < 0 || d.Memory <= 0 || d.Memory == s.listed[old].Memory || d.Memory == s.resized[d.UUID] {
			continue
		}
		seen[d.UUID] = d.Memory
		now[i].Memory = s.listed[old].Memory
	}
	s.resized = seen
	return now
}

func (s *Stock) hear(err error) {
	s.doubtful = false
	for _, j := range s.judges {
		s.doubtful = j.Listed(time.Now(), slices.Clone(s.listed), err) || s.doubtful
	}
}

func (s *Stock) judged() []Device {
	devices := slices.Clone(s.listed)
	for _, j := range s.judges {
		devices = j.Judged(time.Now(), devices)
	}
	return devices
}

// settle makes what the judges say the present list.
func (s *Stock) settle() {
	devices := s.judged()
	if same(devices, s.devices) {
		return
	}
	for _, d := range devices {
		if !slices.ContainsFunc(s.devices, func(old Device) bool { return same([]Device{old}, []Device{d}) }) {
			s.log.Info("a GPU changed", "gpu", d.UUID, "healthy", d.Healthy, "memory", d.Memory.String(), "reason", d.Reason)
		}
	}
	s.devices = devices
	close(s.changed)
	s.changed = make(chan struct{})
}
