package probes

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-gpu/trellis/daemon/probes"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// Source returns the last snapshot of the bus.
type Source interface {
	Snapshot() (*history.Snapshot, <-chan struct{})
}

// New returns the probes of the tuner. It is ready once it has read the bus. It stays ready while the bus is
// unavailable, because an outdated dashboard is better than none.
func New(source Source, metrics *prometheus.Registry) *probes.Probes {
	return &probes.Probes{
		Metrics: metrics,
		Ready: func() ([]string, error) {
			snapshot, _ := source.Snapshot()
			return ready(snapshot)
		},
	}
}

func ready(s *history.Snapshot) (degraded []string, err error) {
	switch {
	case !s.Synced && s.Err == nil:
		return nil, errors.New("the state bus has not been read yet")
	case !s.Synced:
		return nil, fmt.Errorf("the state bus has not been read yet: %w", s.Err)
	case s.Err != nil:
		return []string{fmt.Sprintf("the bus is unavailable, serving the last snapshot and giving no advice: %v", s.Err)}, nil
	}
	return nil, nil
}
