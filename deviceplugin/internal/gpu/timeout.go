package gpu

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// TimeoutSource asks a source that may hang. NVML has no deadlines: a call into a driver that waits for a dead GPU can take
// minutes, or for ever. A call that is given up goes on in the background, and as long as it does no second one is
// made, so at most one thread is ever lost.
type TimeoutSource struct {
	Source  Source
	Timeout time.Duration

	mu      sync.Mutex
	pending chan result // nil when nobody is asking
	since   time.Time
}

type result struct {
	devices []Device
	err     error
}

// Devices implements Source.
func (p *TimeoutSource) Devices(ctx context.Context) ([]Device, error) {
	p.mu.Lock()
	joined := p.pending != nil
	if !joined {
		p.pending = make(chan result, 1)
		p.since = time.Now()
		go func(results chan<- result) {
			devices, err := p.Source.Devices(context.WithoutCancel(ctx))
			results <- result{devices, err}
		}(p.pending)
	}
	pending := p.pending
	since := p.since
	p.mu.Unlock()

	wait := time.NewTimer(p.Timeout)
	defer wait.Stop()
	select {
	case a := <-pending:
		p.mu.Lock()
		p.pending = nil
		p.mu.Unlock()
		if joined { // it speaks of the time when it was asked
			return nil, fmt.Errorf("the driver answered after %s, which is too old to be believed", time.Since(since).Round(time.Second))
		}
		return a.devices, a.err
	case <-wait.C:
		return nil, fmt.Errorf("the driver has not answered for %s", time.Since(since).Round(time.Second))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
