package gctune

import (
	"net/http"
	"sync/atomic"
	"time"
)

// IdleTimer measures the time without requests. The zero value is ready.
type IdleTimer struct {
	active  atomic.Int64              // requests
	lastEnd atomic.Pointer[time.Time] // of a request
}

// Wrap observes the requests of a handler.
func (t *IdleTimer) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.active.Add(1)
		defer func() {
			t.lastEnd.Store(new(time.Now()))
			t.active.Add(-1)
		}()
		next.ServeHTTP(w, r)
	})
}

// Idle returns the time since the last request ended. It is zero during a request, and before the first one: the cluster is
// then still being read.
func (t *IdleTimer) Idle() time.Duration {
	last := t.lastEnd.Load()
	if last == nil || t.active.Load() > 0 {
		return 0
	}
	return time.Since(*last)
}
