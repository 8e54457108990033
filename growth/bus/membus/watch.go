package membus

import (
	"context"
	"slices"
	"sync"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// watch queues batches without a limit, so that a writer never waits for a reader.
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
		for {
			for _, b := range w.take() {
				select {
				case out <- b:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-w.filled:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
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
