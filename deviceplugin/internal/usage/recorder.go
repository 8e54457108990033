package usage

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
)

// Sampler reads utilization samples.
type Sampler interface {
	Utilization(ctx context.Context, since map[growth.GPU]uint64) ([]gpu.Utilization, error)
}

// Recorder measures how long pods use each GPU, and writes gpuuse.Record for the coordinator, with the memory that they have.
type Recorder struct {
	Driver   Sampler
	Proc     Proc
	StateDir string
	// Allocations returns the allocation records by pod. Other pods are not recorded.
	Allocations func() map[growth.PodUID]bus.Allocation
	// Uses returns what pods use of GPUs, as last listed.
	Uses func() []Use
	Log  *slog.Logger

	meters map[growth.GPU]*gpuuse.Meter
	last   growth.Seconds // uptime of the last measurement
}

// Run measures at an interval until ctx ends. A driver that blocks delays the next measurement: the record then becomes
// too old to count.
func (r *Recorder) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failing := false
	measured := make(chan error, 1) // NVML has no deadlines
	for {
		select {
		case <-tick.C:
			go func() { measured <- r.measure(ctx, Uptime()) }()
		case <-ctx.Done():
			return nil
		}
		var err error
		select {
		case err = <-measured:
		case <-ctx.Done():
			return nil
		}
		if (err != nil) != failing {
			failing = err != nil
			r.Log.Info("measuring how long pods use the GPUs", "works", !failing, "err", err)
		}
	}
}

// measure adds the newest samples and replaces the file.
func (r *Recorder) measure(ctx context.Context, now growth.Seconds) error {
	if r.meters == nil {
		r.meters = map[growth.GPU]*gpuuse.Meter{}
	}
	since := map[growth.GPU]uint64{}
	for device, m := range r.meters {
		since[device] = m.Since()
	}
	all, err := r.Driver.Utilization(ctx, since)
	if err != nil {
		return err
	}
	allocations := r.Allocations()
	allocated := func(pod growth.PodUID) bool {
		_, ok := allocations[pod]
		return ok
	}
	record := gpuuse.Record{Uptime: now}
	processes := map[Key]int{}
	for _, u := range r.Uses() {
		processes[u.Key] = u.Processes
		if u.Memory >= 0 && allocated(u.Pod) && bus.ValidName(u.GPU) {
			record.Memory = append(record.Memory, gpuuse.Memory{GPU: u.GPU, Pod: u.Pod, Used: u.Memory})
		}
	}
	for _, u := range all {
		m, elapsed := r.meters[u.Device], now-r.last
		if m == nil { // the samples describe a time before the first record
			m, elapsed = &gpuuse.Meter{}, 0
			r.meters[u.Device] = m
		}
		m.Add(u.Samples, elapsed, func(pid int) (growth.PodUID, bool) {
			pod, ok := r.Proc.Pod(pid)
			return pod, ok && allocated(pod)
		})
		m.Keep(allocated)
		uses := m.Busy()
		for i, use := range uses {
			uses[i].Processes = processes[Key{Pod: use.Pod, GPU: u.Device}]
		}
		record.GPUs = append(record.GPUs, gpuuse.GPU{UUID: u.Device, Uses: uses})
	}
	r.last = now
	return r.write(record)
}

// write replaces the file atomically. Only root can read it.
func (r *Recorder) write(record gpuuse.Record) error {
	content, err := gpuuse.Encode(record)
	if err != nil {
		return err
	}
	path := filepath.Join(r.StateDir, gpuuse.FileName)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("writing the use of GPUs: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the use of GPUs: %w", err)
	}
	return nil
}

// Uptime returns the time since boot. Unlike the time of day it is never set.
func Uptime() growth.Seconds {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return growth.Seconds(time.Duration(t.Nano()).Seconds())
}
