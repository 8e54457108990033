package bus

import (
	"maps"
	"sync/atomic"
)

// Mirror keeps the last known state below a watched prefix, decoded. One goroutine applies batches; any number read.
// A View never changes once it is seen, so a decision that takes one sees one instant of the bus throughout.
type Mirror[T any] struct {
	// Decode turns an entry into a value; entries it refuses are kept out of the view and counted in View.Refused.
	Decode func(Entry) (T, error)

	current atomic.Pointer[View[T]]
}

// View is one instant of a mirror.
type View[T any] struct {
	// Values are by key.
	Values   map[string]T
	Revision Revision
	// Synced is false until the first full list has come.
	Synced bool
	// Err is set while the bus can not be reached: the view ages.
	Err error
	// Undecodable counts entries of unknown versions and other nonsense in this view, by key.
	Undecodable map[string]error
}

// View returns the present instant. It is never nil.
func (m *Mirror[T]) View() *View[T] {
	if v := m.current.Load(); v != nil {
		return v
	}
	return &View[T]{}
}

// Apply makes the next view from a batch and returns it.
func (m *Mirror[T]) Apply(b Batch) *View[T] {
	old := m.View()
	next := &View[T]{Revision: old.Revision, Synced: old.Synced, Err: b.Err}
	if b.Err == nil {
		next.Revision, next.Synced = b.Revision, old.Synced || b.Reset
	}
	if b.Reset {
		next.Values, next.Undecodable = make(map[string]T, len(b.Entries)), map[string]error{}
	} else {
		next.Values, next.Undecodable = cloneOrEmpty(old.Values), cloneOrEmpty(old.Undecodable)
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
