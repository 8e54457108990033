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

// Fleet is the daemons of a node's GPUs. It implements gpu.Judge: a GPU without its daemon takes no new jobs.
type Fleet struct {
	Program  string
	StateDir string
	Log      *slog.Logger

	mu      sync.Mutex
	daemons map[growth.GPU]*Daemon
}

// Run keeps a daemon alive for every GPU of the inventory that is no MIG instance, until ctx ends.
func (f *Fleet) Run(ctx context.Context, inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
	Rejudge()
}) error {
	if err := os.MkdirAll(ShmDir(f.StateDir), 0o755); err != nil {
		return fmt.Errorf("preparing MPS: %w", err)
	}
	if err := os.Chmod(ShmDir(f.StateDir), 0o1777); err != nil { // as /dev/shm is
		return fmt.Errorf("preparing MPS: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		devices, changed := inventory.Devices()
		for _, d := range devices {
			if daemon := f.enlist(d, inventory.Rejudge); daemon != nil {
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

// enlist returns a daemon that is to be run, or nil where there is one or none is wanted.
func (f *Fleet) enlist(d gpu.Device, changed func()) *Daemon {
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
		Dir:     folder(f.StateDir, d.UUID),
		Log:     f.Log,
		Changed: changed,
	}
	f.daemons[d.UUID] = daemon
	return daemon
}

// Listed implements gpu.Judge.
func (*Fleet) Listed(time.Time, []gpu.Device, error) bool { return false }

// Judged implements gpu.Judge.
func (f *Fleet) Judged(_ time.Time, devices []gpu.Device) []gpu.Device {
	f.mu.Lock()
	defer f.mu.Unlock()
	judged := slices.Clone(devices)
	for i, d := range judged {
		if d.Instance != nil || !d.Healthy {
			continue
		}
		ready := false
		why := "its MPS control daemon has not started yet"
		if daemon := f.daemons[d.UUID]; daemon != nil {
			ready, why = daemon.State()
		}
		if !ready {
			judged[i].Healthy = false
			judged[i].Reason = why
		}
	}
	return judged
}
