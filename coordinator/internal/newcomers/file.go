package newcomers

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/mpsthreads"
)

// File is the file in the folder that the coordinator and the device plugin share. It is not safe for concurrent use.
type File struct {
	path    string
	uptime  func() growth.Seconds
	log     *slog.Logger
	failing bool
}

// New returns the file below the shared folder. uptime is the time since boot.
func New(stateDir string, uptime func() growth.Seconds, log *slog.Logger) *File {
	return &File{path: filepath.Join(stateDir, mpsthreads.FileName), uptime: uptime, log: log}
}

// Write replaces the file. Without it the device plugin assumes equal parts, so a failure is only logged.
func (f *File) Write(shares map[growth.GPU]growth.Share) {
	err := f.write(shares)
	if (err != nil) != f.failing {
		f.failing = err != nil
		f.log.Info("writing the shares of new jobs", "works", !f.failing, "err", err)
	}
}

func (f *File) write(shares map[growth.GPU]growth.Share) error {
	record := mpsthreads.Record{Uptime: f.uptime()}
	for _, gpu := range slices.Sorted(maps.Keys(shares)) {
		record.GPUs = append(record.GPUs, mpsthreads.GPU{UUID: gpu, Share: shares[gpu]})
	}
	content, err := mpsthreads.Encode(record)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path+".new", content, 0o600); err != nil {
		return fmt.Errorf("writing the shares of new jobs: %w", err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		return fmt.Errorf("writing the shares of new jobs: %w", err)
	}
	return nil
}
