package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
)

func conflicts(t *testing.T, b bus.Bus, key string, guards ...bus.Guard) {
	t.Helper()
	if _, err := b.Put(t.Context(), key, []byte("late"), bus.Persistent, guards...); !errors.Is(err, bus.ErrConflict) {
		t.Fatalf("put %s: %v, want a conflict", key, err)
	}
}

func createdOnce(t *testing.T, h Harness) {
	b := h.Open(t)
	put(t, b, "/a", "first", bus.Persistent, bus.Absent("/a"))
	conflicts(t, b, "/a", bus.Absent("/a"))
	want(t, keys(t, b, "/"), "/a=first ")
}

func replacedOnce(t *testing.T, h Harness) {
	b := h.Open(t)
	first := put(t, b, "/a", "1", bus.Persistent)
	put(t, b, "/a", "2", bus.Persistent, bus.Unchanged("/a", first))
	conflicts(t, b, "/a", bus.Unchanged("/a", first))
	want(t, keys(t, b, "/"), "/a=2 ")
}

func noneNewer(t *testing.T, h Harness) {
	b := h.Open(t)
	seen := put(t, b, "/n/a", "1", bus.Persistent)
	put(t, b, "/other", "1", bus.Persistent)
	put(t, b, "/n/b", "2", bus.Persistent, bus.NoneNewer("/n/", seen))
	conflicts(t, b, "/n/c", bus.NoneNewer("/n/", seen))
	put(t, b, "/m/c", "3", bus.Persistent, bus.NoneNewer("/m/", seen))
	want(t, keys(t, b, "/n/"), "/n/a=1 /n/b=2 ")
}

func deletionsAllowed(t *testing.T, h Harness) {
	b := h.Open(t)
	put(t, b, "/n/a", "1", bus.Persistent)
	seen := put(t, b, "/n/b", "2", bus.Persistent)
	if err := b.Delete(t.Context(), "/n/a"); err != nil {
		t.Fatal(err)
	}
	put(t, b, "/n/c", "3", bus.Persistent, bus.NoneNewer("/n/", seen))
}

func notNewer(t *testing.T, h Harness) {
	b := h.Open(t)
	first := put(t, b, "/g/1", "1", bus.Persistent)
	put(t, b, "/g/10", "a longer name", bus.Persistent)
	put(t, b, "/absent", "1", bus.Persistent, bus.NotNewer("/g/2", first))
	put(t, b, "/older", "1", bus.Persistent, bus.NotNewer("/g/1", first))
	put(t, b, "/g/1", "2", bus.Persistent)
	conflicts(t, b, "/newer", bus.NotNewer("/g/1", first))
	if err := b.Delete(t.Context(), "/g/1"); err != nil {
		t.Fatal(err)
	}
	put(t, b, "/deleted", "1", bus.Persistent, bus.NotNewer("/g/1", first))
}

func commits(t *testing.T, h Harness) {
	b, m := h.Open(t), newMirror()
	batches := h.Open(t).Watch(t.Context(), "/n/")
	waitFor(t, batches, m, holds())
	both := []bus.Write{
		{Key: "/n/a", Value: []byte("1"), Lifetime: bus.Lifetime{TTL: time.Second}},
		{Key: "/n/b", Value: []byte("1")},
	}
	first, err := b.Commit(t.Context(), both, bus.Absent("/n/a"))
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := b.List(t.Context(), "/n/")
	if err != nil || len(entries) != 2 || entries[0].Revision != first || entries[1].Revision != first {
		t.Fatalf("got %+v, %v, want both at %d", entries, err, first)
	}
	rejected := []bus.Write{{Key: "/n/a", Value: []byte("2")}, {Key: "/n/c"}}
	if _, err := b.Commit(t.Context(), rejected, bus.Absent("/n/b")); !errors.Is(err, bus.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	waitFor(t, batches, m, holds("/n/a", "1", "/n/b", "1"))
	h.Advance(2 * time.Second)
	waitFor(t, batches, m, holds("/n/b", "1"))
}

// overlaps writes pairs of keys from several processes. Each write is guarded by the revisions of its pair.
func overlaps(t *testing.T, h Harness) {
	seen := put(t, h.Open(t), "/start", "", bus.Persistent)
	pairs := [][2]string{{"/e/1", "/e/2"}, {"/e/2", "/e/3"}, {"/e/3", "/e/1"}, {"/e/4", "/e/5"}}
	won := make([]bool, len(pairs))
	var group sync.WaitGroup
	for i, pair := range pairs {
		b := h.Open(t)
		group.Go(func() {
			_, err := b.Commit(context.WithoutCancel(t.Context()), []bus.Write{{Key: pair[0]}, {Key: pair[1]}},
				bus.NotNewer(pair[0], seen), bus.NotNewer(pair[1], seen))
			won[i] = err == nil
			if err != nil && !errors.Is(err, bus.ErrConflict) {
				t.Errorf("%v: %v", pair, err)
			}
		})
	}
	group.Wait()
	winners := 0
	for _, w := range won[:3] {
		if w {
			winners++
		}
	}
	if winners != 1 || !won[3] {
		t.Fatalf("got %v, want one of the first three, and the last, which shares no key", won)
	}
}

func guardedDelete(t *testing.T, h Harness) {
	b := h.Open(t)
	first := put(t, b, "/a", "1", bus.Persistent)
	put(t, b, "/a", "2", bus.Persistent)
	if err := b.Delete(t.Context(), "/a", bus.Unchanged("/a", first)); !errors.Is(err, bus.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if err := b.Delete(t.Context(), "/never-there"); err != nil {
		t.Fatal(err)
	}
	want(t, keys(t, b, "/"), "/a=2 ")
}

func race(t *testing.T, h Harness) {
	const replicas = 8
	seen := put(t, h.Open(t), "/start", "", bus.Persistent)
	var group sync.WaitGroup
	won := make(chan string, replicas)
	for i := range replicas {
		b := h.Open(t)
		group.Go(func() {
			ctx := context.WithoutCancel(t.Context())
			_, err := b.Put(ctx, fmt.Sprintf("/n/%d", i), nil, bus.Persistent, bus.NoneNewer("/n/", seen))
			switch {
			case err == nil:
				won <- fmt.Sprint(i)
			case !errors.Is(err, bus.ErrConflict):
				t.Errorf("replica %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Fatalf("%d replicas won, want exactly one", len(won))
	}
}
