package plugin

import "sync"

// StreamTracker counts the ListAndWatch streams that kubelet has open. The kernel closes a stream at once when either
// process dies.
type StreamTracker struct {
	mu      sync.Mutex
	streams int
	changed chan struct{}
}

// Connected reports whether kubelet has a stream open. The channel is closed when that changes.
func (a *StreamTracker) Connected() (bool, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.streams > 0, a.changed
}

// add changes the number of streams. After a new registration, kubelet opens a second stream before the first one
// ends.
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
