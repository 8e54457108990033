package allocations

import (
	"context"
	"sync"
	"time"
)

const (
	// admissionTimeout bounds the time between GetPreferredAllocation and Allocate.
	admissionTimeout = 300 * time.Millisecond
	// checkpointDelay bounds the time that kubelet takes to record an allocation after Allocate has returned.
	checkpointDelay = 10 * time.Millisecond
	// listTimeout bounds how long a List request waits for allocations, and allocations for a List request.
	listTimeout = time.Second
)

// listGate delays List requests while kubelet allocates, and allocations while a List request runs. InUse explains
// why. The zero value is ready to use.
type listGate struct {
	serial sync.Mutex // one List request at a time

	mu              sync.Mutex
	allocatingUntil time.Time     // kubelet is assumed to allocate until then
	listing         chan struct{} // closed when the current List request ends; nil when there is none
}

// beginAllocate waits for the current List request and delays the next one.
func (g *listGate) beginAllocate(ctx context.Context) {
	g.mu.Lock()
	listing := g.listing
	g.allocatingUntil = time.Now().Add(admissionTimeout)
	g.mu.Unlock()
	if listing == nil {
		return
	}
	select {
	case <-listing:
	case <-time.After(listTimeout):
	case <-ctx.Done():
	}
}

// endAllocate lets List requests continue once kubelet has recorded the allocation.
func (g *listGate) endAllocate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allocatingUntil = time.Now().Add(checkpointDelay)
}

// beginList returns once kubelet allocates nothing, or after listTimeout. The caller calls done when the request has
// ended.
func (g *listGate) beginList(ctx context.Context) (done func(), err error) {
	g.serial.Lock()
	for deadline := time.Now().Add(listTimeout); ; {
		g.mu.Lock()
		wait := time.Until(g.allocatingUntil)
		if wait <= 0 || !time.Now().Before(deadline) {
			listing := make(chan struct{})
			g.listing = listing
			g.mu.Unlock()
			return func() {
				g.mu.Lock()
				g.listing = nil
				g.mu.Unlock()
				close(listing)
				g.serial.Unlock()
			}, nil
		}
		g.mu.Unlock()
		select {
		case <-time.After(min(wait, checkpointDelay)): // the allocation may end earlier
		case <-ctx.Done():
			g.serial.Unlock()
			return nil, ctx.Err()
		}
	}
}
