package extenderbench

import (
	"context"
	"time"
)

const (
	// maxOtherCPU is the part of one core that the other programs may use together and still count as idle.
	maxOtherCPU = 0.1
	// idleCheckInterval is the interval of the checks, maxIdleWait the maximum wait.
	idleCheckInterval, maxIdleWait = time.Second, time.Minute
)

// waitUntilIdle waits until the programs whose CPU time cpu returns are idle, for maxIdleWait at most. An API server
// collects garbage for seconds after it received tens of thousands of pods.
func waitUntilIdle(ctx context.Context, cpu func() time.Duration) error {
	tick, timeout := time.NewTicker(idleCheckInterval), time.After(maxIdleWait)
	defer tick.Stop()
	for before, at := cpu(), time.Now(); ; {
		select {
		case <-tick.C:
		case <-timeout:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		now := cpu()
		if float64(now-before) <= maxOtherCPU*float64(time.Since(at)) {
			return nil
		}
		before, at = now, time.Now()
	}
}
