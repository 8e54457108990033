package loop

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/podlog"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// follower reads the log or the file of one pod.
type follower struct {
	loop      *Loop
	pod       growth.PodUID
	source    gpushare.Source
	container atomic.Pointer[string] // the ID of the container that trains
	stop      context.CancelFunc
}

func (f *follower) setContainer(id string) { f.container.Store(&id) }

func (f *follower) containerID() string { return *f.container.Load() }

// follow starts to read a job's log or file.
func (l *Loop) follow(from node.Follow) {
	ctx, stop := context.WithCancel(l.ctx)
	f := &follower{loop: l, pod: from.Pod.UID, source: from.Progress.Source, stop: stop}
	f.setContainer(from.Container.ID)
	l.unfollow(f.pod)
	l.followers[f.pod] = f
	switch from.Progress.Source {
	case gpushare.FromLog:
		reader := lines.NewReader(from.Metric, from.Progress.Pattern)
		go l.ports.Logs.Follow(ctx, from.Pod, from.Container.Name, from.Resumed, reader, f)
	case gpushare.FromFile:
		file := jobfile.Source{
			Pod:       from.Pod,
			Container: f.containerID,
			Path:      from.Progress.Path,
			Before:    from.Resumed,
		}
		go l.ports.Files.Follow(ctx, file, lines.NewPlain(from.Metric), f)
	}
}

func (l *Loop) unfollow(pod growth.PodUID) {
	if f := l.followers[pod]; f != nil {
		f.stop()
		delete(l.followers, pod)
	}
}

func (f *follower) post(e node.Event) { f.loop.post(func() { f.loop.step(e) }) }

// Report implements lines.Sink.
func (f *follower) Report(p wire.Progress, counted bool) {
	f.post(node.ProgressReported{Pod: f.pod, Source: f.source, Progress: p, Counted: counted})
}

// Restarted implements lines.Sink.
func (f *follower) Restarted() { f.post(node.ContainerRestarted{Pod: f.pod}) }

// Unmatched implements lines.Sink.
func (f *follower) Unmatched(records int, example string) {
	f.post(node.LogUnmatched{Pod: f.pod, Lines: records, Example: example})
}

// Unreadable implements lines.Sink.
func (f *follower) Unreadable(why error) {
	if errors.Is(why, podlog.ErrFormat) {
		f.post(node.LogFormatUnknown{Pod: f.pod, Err: why.Error()})
		return
	}
	f.post(node.ProgressUnreadable{Pod: f.pod, Err: why.Error()})
}
