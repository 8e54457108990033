// Package bustest is the contract of the bus: what bus.Bus promises, as tests that every adapter passes.
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

// Harness is what an adapter's test provides.
type Harness struct {
	// Open connects a process of its own to the same, initially empty, bus.
	Open func(t *testing.T) Process
	// Pass lets time pass.
	Pass func(time.Duration)
}

// Process is a connected adapter whose process can end.
type Process interface {
	bus.Bus
	Close() error
}

// Run holds an adapter to the contract. open is called once per test for a fresh bus.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"an entry is listed with its revision":                                 listed,
		"a long list is of one instant":                                        ofOneInstant,
		"an absent key can be claimed once":                                    claimedOnce,
		"an unchanged key can be replaced once":                                replacedOnce,
		"nobody may have written below a guarded prefix":                       noneNewer,
		"deletions do not break a prefix guard":                                deletionsMakeRoom,
		"a key may be absent or old, but not newer":                            notNewer,
		"a commit writes all at one revision, or nothing":                      commits,
		"of many commits on two keys those that share one exclude one another": overlaps,
		"a guarded deletion fails when the key moved on":                       guardedDelete,
		"of many claims on one prefix one wins a round":                        race,
		"a watch starts with everything and then follows":                      follows,
		"a watch sees only its prefix":                                         prefixOnly,
		"a list in parts is the whole list":                                    inParts,
		"what a process leaves behind goes with it":                            whileAlive,
		"an entry with an end ends":                                            expires,
		"a rewrite outlives the first write's end":                             persistentAfterExpiring,
		"a cancelled watch closes":                                             cancelled,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

const patience = 10 * time.Second

func put(t *testing.T, b bus.Bus, key, value string, life bus.Life, guards ...bus.Guard) bus.Revision {
	t.Helper()
	revision, err := b.Put(t.Context(), key, []byte(value), life, guards...)
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return revision
}

func conflicts(t *testing.T, b bus.Bus, key string, guards ...bus.Guard) {
	t.Helper()
	if _, err := b.Put(t.Context(), key, []byte("late"), bus.Persistent, guards...); !errors.Is(err, bus.ErrConflict) {
		t.Fatalf("put %s: %v, want a conflict", key, err)
	}
}

func keys(t *testing.T, b bus.Bus, prefix string) string {
	t.Helper()
	entries, _, err := b.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, e := range entries {
		all += e.Key + "=" + string(e.Value) + " "
	}
	return all
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func listed(t *testing.T, h Harness) {
	b := h.Open(t)
	put(t, b, "/b", "2", bus.Persistent)
	first := put(t, b, "/a", "1", bus.Persistent)
	entries, revision, err := b.List(t.Context(), "/")
	if err != nil || len(entries) != 2 || entries[0].Key != "/a" || entries[0].Revision != first || revision < first {
		t.Fatalf("got %+v at %d, %v", entries, revision, err)
	}
}

// ofOneInstant lists thousands of entries while the first and the last of them change, always both at once.
func ofOneInstant(t *testing.T, h Harness) {
	const entries = 2500
	b, key := h.Open(t), func(n int) string { return fmt.Sprintf("/n/%04d", n) }
	for n := 0; n < entries; n += 100 {
		var writes []bus.Write
		for i := range 100 {
			writes = append(writes, bus.Write{Key: key(n + i), Value: []byte("0")})
		}
		if _, err := b.Commit(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	change := func(n int) {
		value := []byte(fmt.Sprint(n))
		if _, err := b.Commit(ctx, []bus.Write{{Key: key(0), Value: value}, {Key: key(entries - 1), Value: value}}); err != nil && ctx.Err() == nil {
			t.Errorf("round %d: %v", n, err)
		}
	}
	change(1)
	var writer sync.WaitGroup
	defer writer.Wait()
	defer cancel()
	writer.Go(func() {
		for n := 2; ctx.Err() == nil; n++ {
			change(n)
		}
	})
	reader := h.Open(t)
	for range 10 {
		all, revision, err := reader.List(t.Context(), "/n/")
		if err != nil || len(all) != entries {
			t.Fatalf("got %d entries, %v, want %d", len(all), err, entries)
		}
		first, last := all[0], all[entries-1]
		if first.Key != key(0) || last.Key != key(entries-1) || first.Revision != last.Revision || last.Revision > revision {
			t.Fatalf("got %s=%s of %d and %s=%s of %d in a list of %d, want the ends, of one revision", first.Key, first.Value, first.Revision, last.Key, last.Value, last.Revision, revision)
		}
	}
}

func claimedOnce(t *testing.T, h Harness) {
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

func deletionsMakeRoom(t *testing.T, h Harness) {
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
	b, m := h.Open(t), mirror()
	batches := h.Open(t).Watch(t.Context(), "/n/")
	mirrored(t, batches, m, holds())
	both := []bus.Write{{Key: "/n/a", Value: []byte("1"), Life: bus.Life{For: time.Second}}, {Key: "/n/b", Value: []byte("1")}}
	first, err := b.Commit(t.Context(), both, bus.Absent("/n/a"))
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := b.List(t.Context(), "/n/")
	if err != nil || len(entries) != 2 || entries[0].Revision != first || entries[1].Revision != first {
		t.Fatalf("got %+v, %v, want both at %d", entries, err, first)
	}
	if _, err := b.Commit(t.Context(), []bus.Write{{Key: "/n/a", Value: []byte("2")}, {Key: "/n/c"}}, bus.Absent("/n/b")); !errors.Is(err, bus.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	mirrored(t, batches, m, holds("/n/a", "1", "/n/b", "1"))
	h.Pass(2 * time.Second)
	mirrored(t, batches, m, holds("/n/b", "1"))
}

// overlaps has many processes write to pairs of keys, each guarded by the epochs of its pair.
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
			_, err := b.Put(context.WithoutCancel(t.Context()), fmt.Sprintf("/n/%d", i), nil, bus.Persistent, bus.NoneNewer("/n/", seen))
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
			writes = append(writes, bus.Write{Key: fmt.Sprintf("/n/%02d%02d", n, i), Life: bus.Persistent})
		}
		if _, err := b.Commit(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
	}
	batches := h.Open(t).WatchInParts(t.Context(), "/n/")
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

func whileAlive(t *testing.T, h Harness) {
	survivor, dying, m := h.Open(t), h.Open(t), mirror()
	put(t, survivor, "/n/stays", "1", bus.WhileAlive)
	put(t, dying, "/n/goes", "1", bus.WhileAlive)
	batches := survivor.Watch(t.Context(), "/n/")
	mirrored(t, batches, m, holds("/n/stays", "1", "/n/goes", "1"))
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	mirrored(t, batches, m, holds("/n/stays", "1"))
}

func expires(t *testing.T, h Harness) {
	b, m := h.Open(t), mirror()
	put(t, b, "/n/a", "1", bus.Life{For: time.Second})
	batches := b.Watch(t.Context(), "/n/")
	mirrored(t, batches, m, holds("/n/a", "1"))
	h.Pass(2 * time.Second)
	mirrored(t, batches, m, holds())
}

func persistentAfterExpiring(t *testing.T, h Harness) {
	b := h.Open(t)
	put(t, b, "/n/short", "1", bus.Life{For: time.Second})
	put(t, b, "/n/a", "1", bus.Life{For: time.Second})
	put(t, b, "/n/a", "2", bus.Persistent)
	m := mirror()
	batches := b.Watch(t.Context(), "/n/")
	h.Pass(2 * time.Second)
	mirrored(t, batches, m, holds("/n/a", "2"))
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
