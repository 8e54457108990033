package mps

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/mpsthreads"
)

// Threads limits the threads of new clients by the share that the coordinator's policy is expected to give them.
type Threads struct {
	StateDir string
	// Uptime is the time since boot.
	Uptime func() growth.Seconds
	// Holders returns the pods with memory of a GPU.
	Holders func(gpu growth.GPU) []growth.PodRef
	Log     *slog.Logger
}

// Percent returns the percentage for a container that is about to start on a GPU. Without a recent record of the coordinator it
// is that of an equal part.
func (t Threads) Percent(gpu growth.GPU) int {
	record, err := t.read()
	if err != nil {
		others := len(t.Holders(gpu))
		t.Log.Warn("the share of a new job is not known: its threads are limited by an equal part", "gpu", gpu, "others", others, "err", err)
		return mpsthreads.Percent(mpsthreads.EqualPart(others))
	}
	return mpsthreads.Percent(record.Share(gpu))
}

func (t Threads) read() (mpsthreads.Record, error) {
	file, err := os.Open(filepath.Join(t.StateDir, mpsthreads.FileName))
	if err != nil {
		return mpsthreads.Record{}, fmt.Errorf("reading the shares of new jobs: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, bus.MaxValue+1))
	if err != nil {
		return mpsthreads.Record{}, fmt.Errorf("reading the shares of new jobs: %w", err)
	}
	return mpsthreads.Decode(content, t.Uptime())
}
