package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/jobfile"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// follow begins to read a job's log or file, where that is where its progress is.
func (l *Loop) follow(j *job) {
	var ctx context.Context
	ctx, j.stopText = context.WithCancel(l.ctx)
	ref, from := j.pod.Ref, j.wish.Progress
	sink := textSink{l, ref.UID, from.Source}
	before := growth.Category(j.pod.Annotations[gpushare.CategoryAnnotation]).Valid()
	switch from.Source {
	case gpushare.FromLog:
		go l.ports.Logs.Follow(ctx, ref, j.pod.Trainer().Name, before, lines.NewReader(j.wish.Metric, from.Pattern), sink)
	case gpushare.FromFile:
		file := jobfile.Source{Pod: ref, Container: j.trainer, Path: from.Path, Before: before}
		go l.ports.Files.Follow(ctx, file, lines.NewPlain(j.wish.Metric), sink, sink.failing)
	}
}

// textSink posts what a log or a file holds.
type textSink struct {
	loop *Loop
	uid  growth.PodUID
	from gpushare.Source
}

func (s textSink) post(f func(j *job)) {
	s.loop.post(func() {
		if j := s.loop.jobs[s.uid]; j != nil {
			f(j)
		}
	})
}

// Report implements lines.Sink.
func (s textSink) Report(p wire.Progress, counted bool) {
	s.post(func(j *job) {
		if counted {
			p.Step += j.counted
		}
		s.loop.report(j, p, s.from)
	})
}

// Restarted implements lines.Sink.
func (s textSink) Restarted() {
	s.post(func(j *job) {
		j.counted = 0
		j.tracker.Restart()
		s.loop.begunAgain(j, "its container was restarted")
	})
}

func (s textSink) failing(why error) {
	s.post(func(j *job) {
		s.loop.tell(j, time.Minute, true, "ProgressUnreadable", fmt.Sprintf("%s can not be read: %v. Until it is, the job gets its fair part", j.wish.Progress.Path, why))
	})
}
