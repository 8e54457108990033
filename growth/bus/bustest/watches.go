package bustest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// waitFor applies batches until a view satisfies a condition.
func waitFor(t *testing.T, batches <-chan bus.Batch, m *bus.Mirror[string], condition func(*bus.View[string]) bool) {
	t.Helper()
	expired := time.After(timeout)
	for !condition(m.View()) {
		select {
		case b, ok := <-batches:
			if !ok {
				t.Fatalf("the watch closed at %+v", m.View())
			}
			m.Apply(b)
		case <-expired:
			t.Fatalf("no batch arrived at %+v", m.View())
		}
	}
}

func newMirror() *bus.Mirror[string] {
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
	b, m := h.Open(t), newMirror()
	put(t, b, "/n/a", "1", bus.Persistent)
	batches := h.Open(t).Watch(t.Context(), "/n/")
	waitFor(t, batches, m, holds("/n/a", "1"))
	put(t, b, "/n/a", "2", bus.Persistent)
	put(t, b, "/n/b", "1", bus.Persistent)
	waitFor(t, batches, m, holds("/n/a", "2", "/n/b", "1"))
	if err := b.Delete(t.Context(), "/n/a"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, batches, m, holds("/n/b", "1"))
}

// slowReader reads nothing while keys change and are deleted.
func slowReader(t *testing.T, h Harness) {
	const many = 60
	b, m := h.Open(t), newMirror()
	batches := h.Open(t).Watch(t.Context(), "/n/")
	waitFor(t, batches, m, holds())
	put(t, b, "/n/gone", "1", bus.Persistent)
	if err := b.Delete(t.Context(), "/n/gone"); err != nil {
		t.Fatal(err)
	}
	for n := range many {
		put(t, b, "/n/a", fmt.Sprint(n), bus.Persistent)
	}
	put(t, b, "/n/gone", "again", bus.Persistent)
	for count := 0; !holds("/n/a", fmt.Sprint(many-1), "/n/gone", "again")(m.View()); count++ {
		if count > many/4 {
			t.Fatalf("%d batches, and the last change is in none", count)
		}
		select {
		case batch := <-batches:
			m.Apply(batch)
		case <-time.After(timeout):
			t.Fatalf("no batch arrived at %+v", m.View())
		}
	}
}

// absentKey watches one key as a coordinator watches the model of a program.
func absentKey(t *testing.T, h Harness) {
	b, m := h.Open(t), newMirror()
	put(t, b, "/models/programs/a:0", "other", bus.Persistent)
	batches := h.Open(t).Watch(t.Context(), "/models/programs/a:1")
	waitFor(t, batches, m, holds())
	put(t, b, "/models/programs/a:1", "1", bus.Persistent)
	waitFor(t, batches, m, holds("/models/programs/a:1", "1"))
	if err := b.Delete(t.Context(), "/models/programs/a:1"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, batches, m, holds())
}

// chunkedList reads a list of several chunks and a change after it.
func chunkedList(t *testing.T, h Harness) {
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

// next waits for the next batch of a watch.
func next(t *testing.T, batches <-chan bus.Batch) bus.Batch {
	t.Helper()
	select {
	case batch := <-batches:
		return batch
	case <-time.After(timeout):
		t.Fatal("no batch arrived")
	}
	return bus.Batch{}
}

func prefixOnly(t *testing.T, h Harness) {
	b, m := h.Open(t), newMirror()
	batches := b.Watch(t.Context(), "/n/")
	put(t, b, "/other", "1", bus.Persistent)
	put(t, b, "/n/a", "1", bus.Persistent)
	waitFor(t, batches, m, holds("/n/a", "1"))
}

func cancelled(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	batches := h.Open(t).Watch(ctx, "/")
	cancel()
	expired := time.After(timeout)
	for {
		select {
		case _, ok := <-batches:
			if !ok {
				return
			}
		case <-expired:
			t.Fatal("the watch is still open")
		}
	}
}
