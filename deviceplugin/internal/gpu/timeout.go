package gpu

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// TimeoutSource bounds the calls of a source. NVML has no deadlines: a call can block for minutes or forever when a
// GPU does not respond. A timed-out call continues in the background, and no second one starts meanwhile, so at most
// one thread is blocked.
type TimeoutSource struct {
	Source  Source
	Timeout time.Duration
	// First bounds calls until one has been answered: without persistence mode, the driver initialises each GPU then, for 1
	// to 3 s. Timeout applies if it is longer.
	First time.Duration
	// Log receives a message if that takes longer than Timeout. Nil discards it.
	Log *slog.Logger

	mu       sync.Mutex
	pending  chan result // nil without a call in progress
	since    time.Time
	answered bool
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
	limit := p.Timeout
	if !p.answered {
		limit = max(p.First, p.Timeout)
	}
	p.mu.Unlock()

	if limit > p.Timeout {
		slow := time.AfterFunc(p.Timeout, func() {
			cmp.Or(p.Log, slog.New(slog.DiscardHandler)).Warn("the driver is still listing the GPUs; with persistence mode this "+
				"would be faster: run nvidia-persistenced on the node", "limit", limit)
		})
		defer slow.Stop()
	}
	wait := time.NewTimer(limit)
	defer wait.Stop()
	select {
	case a := <-pending:
		p.mu.Lock()
		p.pending, p.answered = nil, true
		p.mu.Unlock()
		if joined { // the result is as old as the call
			return nil, fmt.Errorf("the driver answered after %s, which is too old to be believed",
				time.Since(since).Round(time.Second))
		}
		return a.devices, a.err
	case <-wait.C:
		return nil, fmt.Errorf("the driver has not answered for %s", time.Since(since).Round(time.Second))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
