package probes

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trellis-gpu/trellis/daemon/probes"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
)

// View returns the current snapshot of the cluster.
type View interface{ Snapshot() *cache.Snapshot }

// Held counts the reservations that wait in memory for the bus.
type Held interface{ Len() int }

// New returns the probes of the extender.
//
// The extender is ready once it has a full snapshot. It stays ready while the bus is unavailable: it answers from the
// last snapshot, and removing every replica from service would help nobody.
func New(view View, held Held, metrics *prometheus.Registry) *probes.Probes {
	return &probes.Probes{
		Metrics: metrics,
		Ready:   func() ([]string, error) { return ready(view.Snapshot(), held) },
	}
}

func ready(s *cache.Snapshot, held Held) (degraded []string, err error) {
	switch {
	case !s.Synced && s.Away != nil:
		return nil, fmt.Errorf("waiting for the state bus: %w", s.Away)
	case !s.Synced:
		return nil, errors.New("waiting for the first full view of the cluster")
	case s.Away != nil:
		away := time.Since(s.Since).Round(time.Second)
		return []string{fmt.Sprintf("the state bus has been unavailable for %s, %d reservations are held in memory until it is back: %v",
			away, held.Len(), s.Away)}, nil
	}
	return nil, nil
}
