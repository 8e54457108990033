package bus

import (
	"maps"
	"sync/atomic"
)

// Mirror caches the decoded entries below a watched prefix. One goroutine applies batches; any number of goroutines
// read views. A View is immutable, so a decision based on one sees a consistent version of the bus.
type Mirror[T any] struct {
	// Decode decodes an entry. Entries for which it fails are omitted from View.Values and listed in View.Undecodable.
	Decode func(Entry) (T, error)

	current atomic.Pointer[View[T]]
}

// View is an immutable version of a mirror.
type View[T any] struct {
	// Values has the decoded entries by key.
	Values   map[string]T
	Revision Revision
	// Synced is set once the first complete list has been applied.
	Synced bool
	// Err is set while the bus is unavailable and the view becomes stale.
	Err error
	// Undecodable has the errors of the entries that could not be decoded, by key.
	Undecodable map[string]error
}

// View returns the current view. It is never nil.
func (m *Mirror[T]) View() *View[T] {
	if v := m.current.Load(); v != nil {
		return v
	}
	return &View[T]{}
}

// Apply applies a batch and returns the new view.
func (m *Mirror[T]) Apply(b Batch) *View[T] {
	old := m.View()
	next := &View[T]{Revision: old.Revision, Synced: old.Synced, Err: b.Err}
	if b.Err == nil {
		next.Revision = b.Revision
		next.Synced = old.Synced || b.Reset
	}
	if b.Reset {
		next.Values = make(map[string]T, len(b.Entries))
		next.Undecodable = map[string]error{}
	} else {
		next.Values = cloneOrEmpty(old.Values)
		next.Undecodable = cloneOrEmpty(old.Undecodable)
	}
	for _, key := range b.Deleted {
		delete(next.Values, key)
		delete(next.Undecodable, key)
	}
	for _, entry := range b.Entries {
		value, err := m.Decode(entry)
		if err != nil {
			delete(next.Values, entry.Key)
			next.Undecodable[entry.Key] = err
			continue
		}
		delete(next.Undecodable, entry.Key)
		next.Values[entry.Key] = value
	}
	m.current.Store(next)
	return next
}

func cloneOrEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}
