package gpubusy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpuuse"
	"github.com/trellis-gpu/trellis/growth/node"
)

// File is the device plugin's file. It is not safe for concurrent use.
type File struct {
	path    string
	log     *slog.Logger
	failing bool
}

// New returns the file below the folder that the device plugin and the coordinator share.
func New(stateDir string, log *slog.Logger) *File {
	return &File{path: filepath.Join(stateDir, gpuuse.FileName), log: log}
}

// Busy returns the newest measurement. It is empty if there is none.
func (f *File) Busy() node.GPUBusy {
	record, err := f.read(Uptime())
	if errors.Is(err, fs.ErrNotExist) {
		return node.GPUBusy{} // emulated GPUs have no driver
	}
	if (err != nil) != f.failing {
		f.failing = err != nil
		f.log.Info("reading how long pods use the GPUs", "works", !f.failing, "err", err)
	}
	if err != nil {
		return node.GPUBusy{}
	}
	busy := node.GPUBusy{At: record.Uptime, GPUs: map[growth.GPU]map[growth.PodUID]node.BusyTime{}}
	for _, g := range record.GPUs {
		uses := map[growth.PodUID]node.BusyTime{}
		for _, u := range g.Uses {
			uses[u.Pod] = node.BusyTime{Kernels: u.Busy, Processes: u.Processes}
		}
		busy.GPUs[g.UUID] = uses
	}
	busy.Memory = map[growth.PodUID]growth.MiB{}
	for _, m := range record.Memory {
		busy.Memory[m.Pod] = max(busy.Memory[m.Pod], m.Used)
	}
	return busy
}

func (f *File) read(now growth.Seconds) (gpuuse.Record, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return gpuuse.Record{}, fmt.Errorf("reading the measured use of GPUs: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, bus.MaxValue+1))
	if err != nil {
		return gpuuse.Record{}, fmt.Errorf("reading the measured use of GPUs: %w", err)
	}
	return gpuuse.Decode(content, now)
}

// Uptime returns the time since boot, on the clock of the device plugin.
func Uptime() growth.Seconds {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return growth.Seconds(time.Duration(t.Nano()).Seconds())
}
