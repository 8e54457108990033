// Package bustest is the contract of bus.Bus as a test suite. Every adapter of the bus passes it.
package bustest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// Harness is provided by the test of an adapter.
type Harness struct {
	// Open connects another process to the same bus, which is initially empty.
	Open func(t *testing.T) Process
	// Advance lets time pass.
	Advance func(time.Duration)
}

// Process is a connection to the bus. Close simulates the death of its process.
type Process interface {
	bus.Bus
	Close() error
}

// Run runs the suite. It calls open once per test, for an empty bus.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"an entry is listed with its revision":                     listed,
		"a long list is consistent":                                listIsConsistent,
		"an absent key can be created once":                        createdOnce,
		"an unchanged key can be replaced once":                    replacedOnce,
		"a write below a guarded prefix conflicts":                 noneNewer,
		"deletions do not violate a prefix guard":                  deletionsAllowed,
		"a key may be absent or old, but not newer":                notNewer,
		"a commit is atomic":                                       commits,
		"commits on pairs of keys conflict if they share a key":    overlaps,
		"a guarded deletion fails if the key has changed":          guardedDelete,
		"of many writes guarded by one prefix, one succeeds":       race,
		"a watch starts with all entries and then follows changes": follows,
		"a slow reader of a watch gets fewer and larger batches":   slowReader,
		"a watch sees only its prefix":                             prefixOnly,
		"a watch of one key starts before the key exists":          absentKey,
		"a chunked list is complete":                               chunkedList,
		"ephemeral entries are deleted with their process":         whileAlive,
		"an entry with a TTL expires":                              expires,
		"a rewrite without a TTL does not expire":                  persistentAfterExpiring,
		"a cancelled watch closes":                                 cancelled,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

const timeout = 10 * time.Second

func put(t *testing.T, b bus.Bus, key, value string, life bus.Lifetime, guards ...bus.Guard) bus.Revision {
	t.Helper()
	revision, err := b.Put(t.Context(), key, []byte(value), life, guards...)
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return revision
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

// listIsConsistent lists thousands of entries while the first and the last of them change atomically.
func listIsConsistent(t *testing.T, h Harness) {
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
		ends := []bus.Write{{Key: key(0), Value: value}, {Key: key(entries - 1), Value: value}}
		if _, err := b.Commit(ctx, ends); err != nil && ctx.Err() == nil {
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
		complete := first.Key == key(0) && last.Key == key(entries-1)
		if !complete || first.Revision != last.Revision || last.Revision > revision {
			t.Fatalf("got %+v and %+v at revision %d, want both ends at one revision", first, last, revision)
		}
	}
}
