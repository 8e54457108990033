package podlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

// pollPeriod is the time between two polls of a log.
const pollPeriod = 500 * time.Millisecond

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
	tail := New(Folder(l.Root, pod, container))
	tail.FromEnd = before
	defer tail.Close()
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	failing := false
	for {
		err := tail.Poll(func() { reader.Restart(); sink.Restarted() }, func(text []byte) {
			if p, counted, ok := reader.Read(text); ok {
				sink.Report(p, counted)
			}
		})
		if err != nil && !failing {
			l.Log.Warn("a job's log cannot be read", "pod", pod.String(), "container", container, "err", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
