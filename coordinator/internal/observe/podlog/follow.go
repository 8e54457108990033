package podlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

const (
	// pollPeriod is the time between two polls of a log.
	pollPeriod = 500 * time.Millisecond
	// failureTimeout is how long a log must be unreadable before that is reported. A rotation takes less.
	failureTimeout = 10 * time.Second
)

// Logs follows the logs of containers below Root.
type Logs struct {
	Root string
	Log  *slog.Logger
}

// Follow reads the log of a container until ctx ends. before means that an earlier coordinator has read the log; then
// the content at the first poll is skipped.
func (l Logs) Follow(
	ctx context.Context, pod growth.PodRef, container string, before bool, reader *lines.Reader, sink lines.Sink,
) {
	reports := lines.NewExtractor(reader, sink)
	tail := New(Folder(l.Root, pod, container), reports)
	tail.FromEnd = before
	defer tail.Close()
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	var failures failures
	for {
		now := time.Now()
		err := tail.Poll(now)
		if failures.due(err, now) {
			l.Log.Warn("a job's log cannot be read", "pod", pod.String(), "container", container, "err", err)
			sink.Unreadable(err)
		}
		reports.Poll(now)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// failures selects the errors to report: one that lasts, once until the log is readable again.
type failures struct {
	since    time.Time
	reported bool
}

// due reports whether the result of a poll is an error to report.
func (f *failures) due(err error, now time.Time) bool {
	if err == nil {
		*f = failures{}
		return false
	}
	if f.since.IsZero() {
		f.since = now
	}
	if f.reported || now.Sub(f.since) < failureTimeout {
		return false
	}
	f.reported = true
	return true
}
