package podlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
)

// every is how often a log is looked at.
const every = 500 * time.Millisecond

// Logs follows containers' logs below Root.
type Logs struct {
	Root string
	Log  *slog.Logger
}

// Follow reads a container's log until ctx ends; if it was read before, from its present end.
func (l Logs) Follow(ctx context.Context, pod growth.PodRef, container string, before bool, reader *lines.Reader, sink lines.Sink) {
	tail := New(Folder(l.Root, pod, container))
	tail.FromEnd = before
	defer tail.Close()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failing := false
	for {
		err := tail.Poll(func() { reader.Restart(); sink.Restarted() }, func(text []byte) {
			if p, counted, ok := reader.Read(text); ok {
				sink.Report(p, counted)
			}
		})
		if err != nil && !failing {
			l.Log.Warn("a job's log can not be read", "pod", pod.String(), "container", container, "err", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
