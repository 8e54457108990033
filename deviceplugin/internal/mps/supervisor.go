package mps

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
)

// Supervisor runs the daemons of a node's GPUs. It implements gpu.HealthCheck: a GPU without its daemon takes no new
// jobs.
type Supervisor struct {
	Program  string
	StateDir string
	Log      *slog.Logger

	mu      sync.Mutex
	daemons map[growth.GPU]*Daemon
}

// Run keeps a daemon running for every GPU of the inventory, except MIG instances, until ctx ends.
func (f *Supervisor) Run(ctx context.Context, inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
	Reevaluate()
}) error {
	if err := os.MkdirAll(ShmDir(f.StateDir), 0o755); err != nil {
		return fmt.Errorf("preparing MPS: %w", err)
	}
	if err := os.Chmod(ShmDir(f.StateDir), 0o1777); err != nil { // like /dev/shm
		return fmt.Errorf("preparing MPS: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		devices, changed := inventory.Devices()
		for _, d := range devices {
			if daemon := f.addDaemon(d, inventory.Reevaluate); daemon != nil {
				running.Go(func() { _ = daemon.Run(ctx) })
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// addDaemon returns a new daemon, or nil if the GPU has one or needs none.
func (f *Supervisor) addDaemon(d gpu.Device, changed func()) *Daemon {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.daemons[d.UUID] != nil || d.Instance != nil {
		return nil
	}
	if f.daemons == nil {
		f.daemons = map[growth.GPU]*Daemon{}
	}
	daemon := &Daemon{
		GPU:     d.UUID,
		Program: f.Program,
		Dir:     daemonDir(f.StateDir, d.UUID),
		Log:     f.Log,
		Changed: changed,
	}
	f.daemons[d.UUID] = daemon
	return daemon
}

// Observe implements gpu.HealthCheck.
func (*Supervisor) Observe(time.Time, []gpu.Device, error) bool { return false }

// Apply implements gpu.HealthCheck.
func (f *Supervisor) Apply(_ time.Time, devices []gpu.Device) []gpu.Device {
	f.mu.Lock()
	defer f.mu.Unlock()
	result := slices.Clone(devices)
	for i, d := range result {
		if d.Instance != nil || !d.Healthy {
			continue
		}
		ready := false
		reason := "its MPS control daemon has not started yet"
		if daemon := f.daemons[d.UUID]; daemon != nil {
			ready, reason = daemon.State()
		}
		if !ready {
			result[i].Healthy = false
			result[i].Reason = reason
		}
	}
	return result
}
