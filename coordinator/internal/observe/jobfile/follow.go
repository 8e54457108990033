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
	// every is how often a file is looked at.
	every = 500 * time.Millisecond
	// patience is for how long a file may be missing before that is worth telling.
	patience = time.Minute
)

// Files follows files inside the containers of a node.
type Files struct {
	// Proc is where the kernel shows its processes, usually /proc.
	Proc      string
	Processes Processes
	Log       *slog.Logger
}

// Source says which file.
type Source struct {
	Pod growth.PodRef
	// Container returns the ID that the container has now; it changes with every restart, and is empty while none runs.
	Container func() string
	// Path is the file's, inside the container.
	Path string
	// Before says that an earlier coordinator has read the file: what is there at the first look is skipped.
	Before bool
}

// Follow reads a file until ctx ends. failing is told once why it can not be read, each time that begins.
func (f Files) Follow(ctx context.Context, from Source, reader *lines.Reader, sink lines.Sink, failing func(error)) {
	t := &tail{roots: procfs{f.Proc, f.Processes}, pod: from.Pod.UID, path: from.Path, fromEnd: from.Before}
	defer t.close()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var trouble trouble
	for {
		if container := from.Container(); container != "" {
			err := t.poll(container, func() { reader.Restart(); sink.Restarted() }, func(text []byte) {
				if p, counted, ok := reader.Read(text); ok {
					sink.Report(p, counted)
				}
			})
			if told := trouble.note(err, time.Now()); told != nil {
				f.Log.Warn("a job's file can not be read", "pod", from.Pod.String(), "path", from.Path, "reason", told)
				failing(told)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// trouble tells apart what is worth telling: each trouble once, and a missing file only when it stays missing.
type trouble struct {
	told    bool
	missing time.Time
}

func (t *trouble) note(err error, now time.Time) error {
	switch {
	case err == nil:
		*t = trouble{}
		return nil
	case errors.Is(err, ErrEnded):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if t.missing.IsZero() {
			t.missing = now
		}
		if now.Sub(t.missing) < patience {
			return nil
		}
		err = fmt.Errorf("there has been no such file for %s", patience)
	}
	if t.told {
		return nil
	}
	t.told = true
	return err
}
