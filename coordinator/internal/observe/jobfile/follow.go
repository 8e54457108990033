package jobfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// pollPeriod is the time between two polls of a file.
	pollPeriod = 500 * time.Millisecond
	// missingTimeout is how long a file may be missing before that is reported.
	missingTimeout = time.Minute
)

// Files follows files inside the containers of a node.
type Files struct {
	// Proc is the path of the procfs, usually /proc.
	Proc      string
	Processes Processes
	Log       *slog.Logger
}

// Source identifies a file in a container.
type Source struct {
	Pod growth.PodRef
	// Container returns the current ID of the container. It changes with each restart, and is empty while none runs.
	Container func() string
	// Path is the path inside the container.
	Path string
	// Before means that an earlier coordinator has read the file. The content at the first poll is skipped.
	Before bool
}

// Follow reads a file until ctx ends.
func (f Files) Follow(ctx context.Context, from Source, reader *lines.Reader, sink lines.Sink) {
	reports := lines.NewExtractor(reader, sink)
	t := &tail{
		roots:   procfs{f.Proc, f.Processes},
		pod:     from.Pod.UID,
		path:    from.Path,
		to:      reports,
		fromEnd: from.Before,
	}
	defer t.close()
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	var failures failures
	for {
		now := time.Now()
		if container := from.Container(); container != "" {
			err := t.poll(container, now)
			if failure := failures.observe(err, now); failure != nil {
				f.Log.Warn("a job's file cannot be read", "pod", from.Pod.String(), "path", from.Path, "err", failure)
				sink.Unreadable(failure)
			}
		}
		reports.Poll(now)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// failures selects the errors to report: the first one after a success, and a missing file only after missingTimeout.
type failures struct {
	reported bool
	missing  time.Time
}

// observe returns the error to report, or nil.
func (f *failures) observe(err error, now time.Time) error {
	switch {
	case err == nil:
		*f = failures{}
		return nil
	case errors.Is(err, ErrEnded):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if f.missing.IsZero() {
			f.missing = now
		}
		if now.Sub(f.missing) < missingTimeout {
			return nil
		}
		err = fmt.Errorf("there has been no such file for %s", missingTimeout)
	}
	if f.reported {
		return nil
	}
	f.reported = true
	return err
}
