package resources

import (
	"log/slog"

	"github.com/trellis-gpu/trellis/growth/bus"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/learn"
)

// NewController returns a controller that keeps what a Learner has learned in models/peaks.
func NewController(source learn.Source, writer learn.Writer, l *Learner, log *slog.Logger) *learn.Controller[bus.Peaks, *bus.Peaks] {
	return &learn.Controller[bus.Peaks, *bus.Peaks]{
		Source:  source,
		Writer:  writer,
		Learner: l,
		Log:     log,
		Begin:   l.Begin,
		Name:    bus.PeaksModel,
		Of:      func(s *history.Snapshot) (*bus.Peaks, bus.Revision) { return s.Peaks, s.PeaksRevision },
	}
}
