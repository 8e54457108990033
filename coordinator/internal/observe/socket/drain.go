package socket

import (
	"context"
	"slices"
)

// Drain reads at once what the job of a slot has sent. It returns when all of it is handled, or when ctx ends: a job that
// goes on sending has no end.
func (s *Server) Drain(ctx context.Context, slot string) {
	s.mu.Lock()
	l := s.open[slot]
	s.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	conns := slices.Clone(l.conns)
	l.mu.Unlock()
	for _, c := range conns {
		c.drain(ctx)
	}
}

func (c *conn) drain(ctx context.Context) {
	handled := make(chan struct{})
	select {
	case c.drains <- handled:
	case <-c.ended:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-handled:
	case <-c.ended:
	case <-ctx.Done():
	}
}
