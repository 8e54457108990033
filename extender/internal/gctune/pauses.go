package gctune

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Pauses notices when a server is asked nothing. The zero value is ready.
type Pauses struct {
	answering atomic.Int64
	answered  atomic.Pointer[time.Time] // when the last answer was done
}

// Around watches a handler.
func (p *Pauses) Around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.answering.Add(1)
		defer func() {
			p.answered.Store(new(time.Now()))
			p.answering.Add(-1)
		}()
		next.ServeHTTP(w, r)
	})
}

// Pause is for how long nobody has asked after somebody did. There is none while somebody waits for an answer, and none
// before the first question: then a cluster is being read, and what that takes is waited for as well.
func (p *Pauses) Pause() time.Duration {
	last := p.answered.Load()
	if last == nil || p.answering.Load() > 0 {
		return 0
	}
	return time.Since(*last)
}
