package allocations

import (
	"context"
	"sync"
	"time"
)

const (
	// admissionWithin is how long kubelet takes at most from asking for a preference to allocating.
	admissionWithin = 300 * time.Millisecond
	// bookedWithin is how long it takes at most to write down what it has allocated.
	bookedWithin = 10 * time.Millisecond
	// listWithin bounds how long a list waits, and is waited for.
	listWithin = time.Second
)

// turns keep us from listing what is held while kubelet allocates: Taken says why. The zero value is ready.
type turns struct {
	lists sync.Mutex // one after the other

	mu      sync.Mutex
	busy    time.Time     // kubelet allocates until then, as far as is known
	listing chan struct{} // closed when the list that is underway has come; nil for none
}

// allocating waits for a list to come, and keeps the next one waiting.
func (t *turns) allocating(ctx context.Context) {
	t.mu.Lock()
	listing := t.listing
	t.busy = time.Now().Add(admissionWithin)
	t.mu.Unlock()
	if listing == nil {
		return
	}
	select {
	case <-listing:
	case <-time.After(listWithin):
	case <-ctx.Done():
	}
}

// allocated lets lists go on, once kubelet has written down what it allocated.
func (t *turns) allocated() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = time.Now().Add(bookedWithin)
}

// list begins a list as soon as kubelet allocates nothing, or when that takes too long. Done ends it.
func (t *turns) list(ctx context.Context) (done func(), err error) {
	t.lists.Lock()
	for late := time.Now().Add(listWithin); ; {
		t.mu.Lock()
		wait := time.Until(t.busy)
		if wait <= 0 || !time.Now().Before(late) {
			listing := make(chan struct{})
			t.listing = listing
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				t.listing = nil
				t.mu.Unlock()
				close(listing)
				t.lists.Unlock()
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-time.After(min(wait, bookedWithin)): // it may be through sooner
		case <-ctx.Done():
			t.lists.Unlock()
			return nil, ctx.Err()
		}
	}
}
