package bustest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// mirrored applies batches until the view satisfies enough.
func mirrored(t *testing.T, batches <-chan bus.Batch, m *bus.Mirror[string], enough func(*bus.View[string]) bool) {
	t.Helper()
	timeout := time.After(patience)
	for !enough(m.View()) {
		select {
		case b, ok := <-batches:
			if !ok {
				t.Fatalf("the watch closed at %+v", m.View())
			}
			m.Apply(b)
		case <-timeout:
			t.Fatalf("the watch stood still at %+v", m.View())
		}
	}
}

func mirror() *bus.Mirror[string] {
	return &bus.Mirror[string]{Decode: func(e bus.Entry) (string, error) { return string(e.Value), nil }}
}

func holds(pairs ...string) func(*bus.View[string]) bool {
	return func(v *bus.View[string]) bool {
		if !v.Synced || len(v.Values) != len(pairs)/2 {
			return false
		}
		for i := 0; i < len(pairs); i += 2 {
			if v.Values[pairs[i]] != pairs[i+1] {
				return false
			}
		}
		return true
	}
}

func follows(t *testing.T, h Harness) {
	b, m := h.Open(t), mirror()
	put(t, b, "/n/a", "1", bus.Persistent)
	batches := h.Open(t).Watch(t.Context(), "/n/")
	mirrored(t, batches, m, holds("/n/a", "1"))
	put(t, b, "/n/a", "2", bus.Persistent)
	put(t, b, "/n/b", "1", bus.Persistent)
	mirrored(t, batches, m, holds("/n/a", "2", "/n/b", "1"))
	if err := b.Delete(t.Context(), "/n/a"); err != nil {
		t.Fatal(err)
	}
	mirrored(t, batches, m, holds("/n/b", "1"))
}

// inParts reads a list that is longer than any part of it, and what changes after it.
func inParts(t *testing.T, h Harness) {
	const many = 2500
	b := h.Open(t)
	for n := range many / 100 {
		var writes []bus.Write
		for i := range 100 {
			writes = append(writes, bus.Write{Key: fmt.Sprintf("/n/%02d%02d", n, i), Lifetime: bus.Persistent})
		}
		if _, err := b.Commit(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
	}
	batches := h.Open(t).WatchChunked(t.Context(), "/n/")
	seen, parts := map[string]bool{}, 0
	for more := true; more; parts++ {
		batch := next(t, batches)
		if batch.Err != nil || batch.Reset != (parts == 0) {
			t.Fatalf("part %d of a list: reset %v, error %v", parts, batch.Reset, batch.Err)
		}
		for _, e := range batch.Entries {
			seen[e.Key] = true
		}
		more = batch.More
	}
	if len(seen) != many || parts < 2 {
		t.Fatalf("%d of %d entries came in %d parts", len(seen), many, parts)
	}
	put(t, b, "/n/new", "1", bus.Persistent)
	if batch := next(t, batches); batch.Reset || batch.More || len(batch.Entries) != 1 {
		t.Fatalf("after the list came %+v", batch)
	}
}

// next waits for a watch's next batch.
func next(t *testing.T, batches <-chan bus.Batch) bus.Batch {
	t.Helper()
	select {
	case batch := <-batches:
		return batch
	case <-time.After(patience):
		t.Fatal("the watch stood still")
	}
	return bus.Batch{}
}

func prefixOnly(t *testing.T, h Harness) {
	b, m := h.Open(t), mirror()
	batches := b.Watch(t.Context(), "/n/")
	put(t, b, "/other", "1", bus.Persistent)
	put(t, b, "/n/a", "1", bus.Persistent)
	mirrored(t, batches, m, holds("/n/a", "1"))
}

func cancelled(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	batches := h.Open(t).Watch(ctx, "/")
	cancel()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-batches:
			if !ok {
				return
			}
		case <-timeout:
			t.Fatal("the watch is still open")
		}
	}
}
