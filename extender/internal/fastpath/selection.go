package fastpath

import "strings"

// Selection is an immutable-size list of names with their values at one instant, in order: the nodes of one request. It
// stores slots of an Index rather than names and values. A request for all nodes, in the order of the Index, takes no
// memory per node.
type Selection[K ~string, V any] struct {
	index Index[K, V]
	count int
	// slots are the selected slots; nil while the selection is 0, 1, 2, …
	slots []int32
	// unknown are the names without an entry, by position.
	unknown map[int]K
}

// Select starts an empty selection of entries of the Index.
func (x Index[K, V]) Select() Selection[K, V] { return Selection[K, V]{index: x} }

// Append adds the entry of a name.
func (s *Selection[K, V]) Append(name K, e Entry[V]) {
	if e.Value == nil {
		if s.unknown == nil {
			s.unknown = map[int]K{}
		}
		s.unknown[s.count] = K(strings.Clone(string(name))) // name may be part of a request's body
	}
	if s.slots == nil && e.Number != s.count {
		s.slots = make([]int32, s.count, s.index.Slots())
		for i := range s.slots {
			s.slots[i] = int32(i)
		}
	}
	if s.slots != nil {
		s.slots = append(s.slots, int32(e.Number))
	}
	s.count++
}

// Len returns the number of names.
func (s Selection[K, V]) Len() int { return s.count }

// Index returns the Index of the entries.
func (s Selection[K, V]) Index() Index[K, V] { return s.index }

// Name returns the name at a position.
func (s Selection[K, V]) Name(i int) K {
	if name, unknown := s.unknown[i]; unknown {
		return name
	}
	return s.index.names[s.slot(i)]
}

// Value returns the value at a position, nil for a name without an entry.
func (s Selection[K, V]) Value(i int) *V {
	if _, unknown := s.unknown[i]; unknown {
		return nil
	}
	return s.index.At(s.slot(i)).Value
}

func (s Selection[K, V]) slot(i int) int {
	if s.slots == nil {
		return i
	}
	return int(s.slots[i])
}
