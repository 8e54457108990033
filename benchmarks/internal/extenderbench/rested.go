package extenderbench

import (
	"context"
	"time"
)

const (
	// restless is the fraction of one core that idle programs may use together.
	restless = 0.1
	// restEvery is the interval of the checks, restWithin the longest wait.
	restEvery, restWithin = time.Second, time.Minute
)

// rested waits until programs are idle; cpu returns their CPU time. An API server collects garbage for seconds after
// it received tens of thousands of pods. After a minute the measurement begins in any case.
func rested(ctx context.Context, cpu func() time.Duration) error {
	tick, give := time.NewTicker(restEvery), time.After(restWithin)
	defer tick.Stop()
	for before, at := cpu(), time.Now(); ; {
		select {
		case <-tick.C:
		case <-give:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		now := cpu()
		if float64(now-before) <= restless*float64(time.Since(at)) {
			return nil
		}
		before, at = now, time.Now()
	}
}
