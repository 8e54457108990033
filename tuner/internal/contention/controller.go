package contention

import (
	"log/slog"

	"github.com/trellis-gpu/trellis/growth/bus"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/learn"
)

// Metrics records what is learned and written.
type Metrics interface {
	CountMeasurements(result string, n int)
	CountModelWrite(result string)
}

// The results of measurements.
const (
	Learned = "learned"
	Invalid = "invalid"
)

// NewController returns what learns from the speeds of all nodes and writes the model while this process is the leader.
func NewController(
	source learn.Source, writer learn.Writer, metrics Metrics, log *slog.Logger,
) *learn.Controller[bus.Interference, *bus.Interference] {
	return &learn.Controller[bus.Interference, *bus.Interference]{
		Source:  source,
		Writer:  writer,
		Learner: &learner{metrics: metrics, log: log},
		Log:     log,
		Count:   metrics.CountModelWrite,
		Name:    bus.InterferenceModel,
		Of: func(s *history.Snapshot) (*bus.Interference, bus.Revision) {
			return s.Interference, s.InterferenceRevision
		},
	}
}
