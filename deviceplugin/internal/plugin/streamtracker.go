package plugin

import "sync"

// StreamTracker knows whether kubelet listens: it keeps a stream of ours open for as long as both live, and the kernel closes
// that at once when one of them dies.
type StreamTracker struct {
	mu      sync.Mutex
	streams int
	changed chan struct{}
}

// Connected tells whether kubelet listens, and gives a channel that is closed when that changes.
func (a *StreamTracker) Connected() (bool, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.streams > 0, a.changed
}

// add adds streams. A kubelet that is registered with again opens a second one before the first ends.
func (a *StreamTracker) add(streams int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	wasConnected := a.streams > 0
	a.streams += streams
	if wasConnected != (a.streams > 0) && a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}
