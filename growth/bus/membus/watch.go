package membus

import (
	"context"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// watch queues batches, so that a writer never waits for a reader. Changes that the reader has not taken become one batch.
type watch struct {
	prefix string

	mu     sync.Mutex
	queue  []bus.Batch
	filled chan struct{}
}

func (w *watch) send(b bus.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, b)
	select {
	case w.filled <- struct{}{}:
	default:
	}
}

func (w *watch) take() []bus.Batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.queue
	w.queue = nil
	return taken
}

// Watch implements bus.Bus.
func (s *Session) Watch(ctx context.Context, prefix string) <-chan bus.Batch {
	w := &watch{prefix: prefix, filled: make(chan struct{}, 1)}
	s.bus.mu.Lock()
	s.bus.watches[w] = struct{}{}
	if s.bus.down != nil {
		w.send(bus.Batch{Err: s.bus.down})
	} else {
		w.send(s.bus.reset(prefix))
	}
	s.bus.mu.Unlock()

	out := make(chan bus.Batch)
	go func() {
		defer close(out)
		defer s.bus.forget(w)
		var pending []bus.Batch
		for {
			var outlet chan<- bus.Batch
			var first bus.Batch
			if len(pending) > 0 {
				outlet, first = out, pending[0]
			}
			select {
			case outlet <- first:
				pending = pending[1:]
			case <-w.filled:
				for _, b := range w.take() {
					pending = add(pending, b)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// add adds a batch to those that the reader has not taken yet. Changes become one batch.
func add(pending []bus.Batch, b bus.Batch) []bus.Batch {
	last := len(pending) - 1
	if last < 0 || !isChange(pending[last]) || !isChange(b) {
		return append(pending, b)
	}
	pending[last] = joined(pending[last], b)
	return pending
}

// isChange reports whether a batch has neither a list nor an error.
func isChange(b bus.Batch) bool { return !b.Reset && b.Err == nil }

// joined returns the changes of two batches. Of several changes to a key only the last is kept.
func joined(first, second bus.Batch) bus.Batch {
	again := map[string]bool{}
	for _, e := range second.Entries {
		again[e.Key] = true
	}
	for _, key := range second.Deleted {
		again[key] = true
	}
	j := bus.Batch{Revision: second.Revision}
	for _, e := range first.Entries {
		if !again[e.Key] {
			j.Entries = append(j.Entries, e)
		}
	}
	for _, key := range first.Deleted {
		if !again[key] {
			j.Deleted = append(j.Deleted, key)
		}
	}
	j.Entries = append(j.Entries, second.Entries...)
	j.Deleted = append(j.Deleted, second.Deleted...)
	return j
}

func (b *Bus) forget(w *watch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watches, w)
}

// chunkSize is the number of entries per chunk. It is small, so that every test has several chunks.
const chunkSize = 3

// WatchChunked implements bus.Bus.
func (s *Session) WatchChunked(ctx context.Context, prefix string) <-chan bus.Batch {
	whole, out := s.Watch(ctx, prefix), make(chan bus.Batch)
	go func() {
		defer close(out)
		for b := range whole {
			for _, p := range chunks(b) {
				select {
				case out <- p:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

// chunks splits a list into chunks. Other batches are returned as they are.
func chunks(b bus.Batch) []bus.Batch {
	if !b.Reset || len(b.Entries) <= chunkSize {
		return []bus.Batch{b}
	}
	var all []bus.Batch
	for entries := range slices.Chunk(b.Entries, chunkSize) {
		all = append(all, bus.Batch{
			Reset:    len(all) == 0,
			More:     true,
			Revision: b.Revision,
			Entries:  entries,
		})
	}
	all[len(all)-1].More = false
	return all
}
