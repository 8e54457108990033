package allocations

import (
	"context"
	"sync"
	"time"
)

const (
	// admissionTimeout is how long kubelet takes at most from asking for a preference to allocating.
	admissionTimeout = 300 * time.Millisecond
	// checkpointDelay is how long it takes at most to write down what it has allocated.
	checkpointDelay = 10 * time.Millisecond
	// listTimeout bounds how long a list waits, and is waited for.
	listTimeout = time.Second
)

// listGate keep us from listing what is held while kubelet allocates: Taken says why. The zero value is ready.
type listGate struct {
	serial sync.Mutex // one after the other

	mu              sync.Mutex
	allocatingUntil time.Time     // kubelet allocates until then, as far as is known
	listing         chan struct{} // closed when the list that is underway has come; nil for none
}

// beginAllocate waits for a list to come, and keeps the next one waiting.
func (t *listGate) beginAllocate(ctx context.Context) {
	t.mu.Lock()
	listing := t.listing
	t.allocatingUntil = time.Now().Add(admissionTimeout)
	t.mu.Unlock()
	if listing == nil {
		return
	}
	select {
	case <-listing:
	case <-time.After(listTimeout):
	case <-ctx.Done():
	}
}

// endAllocate lets lists go on, once kubelet has written down what it allocated.
func (t *listGate) endAllocate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.allocatingUntil = time.Now().Add(checkpointDelay)
}

// beginList begins a list as soon as kubelet allocates nothing, or when that takes too long. Done ends it.
func (t *listGate) beginList(ctx context.Context) (done func(), err error) {
	t.serial.Lock()
	for deadline := time.Now().Add(listTimeout); ; {
		t.mu.Lock()
		wait := time.Until(t.allocatingUntil)
		if wait <= 0 || !time.Now().Before(deadline) {
			listing := make(chan struct{})
			t.listing = listing
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				t.listing = nil
				t.mu.Unlock()
				close(listing)
				t.serial.Unlock()
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-time.After(min(wait, checkpointDelay)): // it may be through sooner
		case <-ctx.Done():
			t.serial.Unlock()
			return nil, ctx.Err()
		}
	}
}
