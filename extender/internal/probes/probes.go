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

// Assumed counts the reservations that wait in memory for the bus.
type Assumed interface{ PendingCount() int }

// New returns the probes of the extender.
//
// The extender is ready once it has a full snapshot. It stays ready while the bus is unavailable: it answers from the
// last snapshot, and if every replica left the Service, kube-scheduler could place no pod with a GPU share.
func New(view View, assumed Assumed, metrics *prometheus.Registry) *probes.Probes {
	return &probes.Probes{
		Metrics: metrics,
		Ready:   func() ([]string, error) { return ready(view.Snapshot(), assumed) },
	}
}

func ready(s *cache.Snapshot, assumed Assumed) (degraded []string, err error) {
	switch {
	case !s.Synced && s.Unavailable != nil:
		return nil, fmt.Errorf("waiting for the state bus: %w", s.Unavailable)
	case !s.Synced:
		return nil, errors.New("waiting for the first full view of the cluster")
	case s.Unavailable != nil:
		return []string{fmt.Sprintf(
			"the state bus has been unavailable for %s, %d reservations are held in memory until it is back: %v",
			time.Since(s.Since).Round(time.Second), assumed.PendingCount(), s.Unavailable,
		)}, nil
	}
	return nil, nil
}
