package extenderbench

import (
	"context"
	"time"
)

const (
	// restless is the part of one core for which programs may compute together and be at rest.
	restless = 0.1
	// restEvery is how often it is looked, restWithin how long it is waited.
	restEvery, restWithin = time.Second, time.Minute
)

// rested waits until programs have come to rest, of which cpu is what they have computed in their lives. An API server that was
// given tens of thousands of pods has garbage to collect for seconds after it, on cores that whoever is measured wants. Who
// does not come to rest within a minute is measured as it is.
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
