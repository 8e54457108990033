package loader

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Reallocate says when the workers of running jobs may change.
type Reallocate string

const (
	// Always also follows new measurements and the growth of jobs.
	Always Reallocate = "always"
	// OnBoth reallocates after arrivals and departures.
	OnBoth Reallocate = "both"
	// OnArrival reallocates after arrivals only.
	OnArrival Reallocate = "arrival"
	// OnDeparture reallocates after departures only.
	OnDeparture Reallocate = "departure"
	// Never keeps the workers of running jobs.
	Never Reallocate = "never"
)

// Validate returns an error for an unknown value.
func (r Reallocate) Validate() error {
	switch r {
	case Always, OnBoth, OnArrival, OnDeparture, Never:
		return nil
	}
	return fmt.Errorf("%q: one of %s, %s, %s, %s, %s", string(r), Always, OnBoth, OnArrival, OnDeparture, Never)
}

const (
	// reallocationTime is the time after an event in which workers may change. A job that has arrived is measured within
	// it, and changes that wait for ChangePolicy.Dwell are made.
	reallocationTime = 2 * time.Minute
	// departureTime is the time for which departures are collected: jobs that end together cause one reallocation. It is
	// extended by further departures, to maxDepartureTime at most.
	departureTime    = 5 * time.Second
	maxDepartureTime = 15 * time.Second
)

// Turnover tracks the arrivals and departures of the pods of a node.
type Turnover struct {
	known map[growth.PodUID]bool
	// arrived and departed are the times of the last events, collecting that of the first departure that is collected.
	arrived, departed, collecting time.Time
}

// Observe updates the pods of the node. A pod that already has advice has not just arrived: another process has seen it.
func (t *Turnover) Observe(pods map[growth.PodUID]bool, now time.Time) {
	for uid, advised := range pods {
		if !advised && !t.known[uid] {
			t.arrived = now
		}
	}
	for uid := range t.known {
		if _, present := pods[uid]; !present {
			if now.Sub(t.departed) >= departureTime {
				t.collecting = now
			}
			t.departed = now
		}
	}
	t.known = map[growth.PodUID]bool{}
	for uid := range pods {
		t.known[uid] = true
	}
}

// Collects reports whether departures are still collected.
func (t *Turnover) Collects(now time.Time) bool {
	return now.Sub(t.departed) < departureTime && now.Sub(t.collecting) < maxDepartureTime
}

// Allows reports whether workers may change now.
func (t *Turnover) Allows(r Reallocate, now time.Time) bool {
	arrival := now.Sub(t.arrived) < reallocationTime
	departure := now.Sub(t.departed) < reallocationTime
	switch r {
	case OnArrival:
		return arrival
	case OnDeparture:
		return departure
	case OnBoth:
		return arrival || departure
	}
	return r != Never
}
