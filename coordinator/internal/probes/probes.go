package probes

import (
	"errors"
	"fmt"
	"time"
)

// errNotSynced is the error of a coordinator that has not listed its node's pods.
var errNotSynced = errors.New("the node's pods are not known yet: is the API server reachable?")

// Ready returns the readiness check of a coordinator. synced reports whether the node's pods are listed. unavailable
// returns for how long the bus has been unavailable.
func Ready(synced func() bool, unavailable func() time.Duration) func() (degraded []string, err error) {
	return func() ([]string, error) {
		if !synced() {
			return nil, errNotSynced
		}
		if d := unavailable(); d > 0 {
			return []string{fmt.Sprintf("the bus has been unavailable for %s, the last snapshot is used", d.Round(time.Second))}, nil
		}
		return nil, nil
	}
}
