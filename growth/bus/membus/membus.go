// Package membus implements the bus in memory. It is the fake for unit tests and passes the same contract tests as
// etcd.
//
// Its clock is manual. Bus.Advance moves it and deletes expired entries. Session.Close deletes the ephemeral entries of
// a session, as if its process had died.
package membus

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// Bus is a bus in memory. Each of its sessions represents a process.
type Bus struct {
	mu       sync.Mutex
	now      time.Duration
	revision bus.Revision
	entries  map[string]entry
	watches  map[*watch]struct{}
	down     error
}

type entry struct {
	bus.Entry
	owner   *Session
	expires time.Duration
}

// New returns an empty bus.
func New() *Bus {
	return &Bus{revision: 1, entries: map[string]entry{}, watches: map[*watch]struct{}{}}
}

// Session is the connection of one process. It implements bus.Bus.
type Session struct{ bus *Bus }

// Session opens a session. Its ephemeral entries are deleted when it is closed.
func (b *Bus) Session() *Session { return &Session{bus: b} }

// Close closes the session as if its process had died and its lease had expired.
func (s *Session) Close() error {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.expire(func(e entry) bool { return e.owner == s })
	return nil
}

// Advance advances the clock.
func (b *Bus) Advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now += d
	b.expire(func(e entry) bool { return e.expires != 0 && e.expires <= b.now })
}

// Fail makes the bus unavailable with err. Calls fail and watches receive the error until Fail(nil), which resets them.
func (b *Bus) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = err
	for w := range b.watches {
		if err != nil {
			w.send(bus.Batch{Err: err})
		} else {
			w.send(b.reset(w.prefix))
		}
	}
}

func (b *Bus) expire(gone func(entry) bool) {
	for _, key := range b.keys("") {
		if gone(b.entries[key]) {
			b.remove(key)
		}
	}
}

func (b *Bus) keys(prefix string) []string {
	var keys []string
	for key := range b.entries {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (b *Bus) remove(key string) {
	delete(b.entries, key)
	b.revision++
	for w := range b.watches {
		if b.down == nil && strings.HasPrefix(key, w.prefix) {
			w.send(bus.Batch{Revision: b.revision, Deleted: []string{key}})
		}
	}
}

// notify sends each watch the writes below its prefix, as one batch.
func (b *Bus) notify(revision bus.Revision, writes []bus.Write) {
	for w := range b.watches {
		batch := bus.Batch{Revision: revision}
		for _, written := range writes {
			if strings.HasPrefix(written.Key, w.prefix) {
				batch.Entries = append(batch.Entries, bus.Entry{
					Key:      written.Key,
					Value:    slices.Clone(written.Value),
					Revision: revision,
				})
			}
		}
		if b.down == nil && len(batch.Entries) > 0 {
			w.send(batch)
		}
	}
}

func (b *Bus) list(prefix string) []bus.Entry {
	entries := []bus.Entry{}
	for _, key := range b.keys(prefix) {
		e := b.entries[key].Entry
		e.Value = slices.Clone(e.Value)
		entries = append(entries, e)
	}
	return entries
}

func (b *Bus) reset(prefix string) bus.Batch {
	return bus.Batch{Reset: true, Revision: b.revision, Entries: b.list(prefix)}
}

func (b *Bus) holds(guards []bus.Guard) bool {
	for _, g := range guards {
		if !g.Prefix {
			if at := b.entries[g.Key].Revision; at > g.Revision || at < g.Revision && !g.AllowOlder {
				return false
			}
			continue
		}
		for _, key := range b.keys(g.Key) {
			if b.entries[key].Revision > g.Revision {
				return false
			}
		}
	}
	return true
}

// List implements bus.Bus.
func (s *Session) List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if err := s.bus.available(ctx); err != nil {
		return nil, 0, err
	}
	return s.bus.list(prefix), s.bus.revision, nil
}

// Put implements bus.Bus.
func (s *Session) Put(
	ctx context.Context, key string, value []byte, lifetime bus.Lifetime, guards ...bus.Guard,
) (bus.Revision, error) {
	return s.Commit(ctx, []bus.Write{{Key: key, Value: value, Lifetime: lifetime}}, guards...)
}

// Commit implements bus.Bus.
func (s *Session) Commit(ctx context.Context, writes []bus.Write, guards ...bus.Guard) (bus.Revision, error) {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if err := s.bus.available(ctx); err != nil {
		return 0, err
	}
	if !s.bus.holds(guards) {
		return 0, bus.ErrConflict
	}
	s.bus.revision++
	for _, w := range writes {
		e := entry{Entry: bus.Entry{Key: w.Key, Value: slices.Clone(w.Value), Revision: s.bus.revision}}
		if w.Lifetime.Ephemeral {
			e.owner = s
		}
		if w.Lifetime.TTL > 0 {
			e.expires = s.bus.now + w.Lifetime.TTL
		}
		s.bus.entries[w.Key] = e
	}
	s.bus.notify(s.bus.revision, writes)
	return s.bus.revision, nil
}

// Delete implements bus.Bus.
func (s *Session) Delete(ctx context.Context, key string, guards ...bus.Guard) error {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if err := s.bus.available(ctx); err != nil {
		return err
	}
	if !s.bus.holds(guards) {
		return bus.ErrConflict
	}
	if _, ok := s.bus.entries[key]; ok {
		s.bus.remove(key)
	}
	return nil
}

func (b *Bus) available(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.down
}
