package fastpath

import (
	"iter"
	"slices"
	"strings"
)

// Index is an immutable map from names to values, made for lookups of thousands of names in a row. With returns the next
// Index and copies only the pages with changed entries. The zero Index is empty.
//
// Each name has a slot, a small number that it keeps while it exists. Results per entry are therefore cached in arrays
// (Verdicts).
type Index[K ~string, V any] struct {
	slots *slotTable[K]
	// names are the names by slot. The slot table may hold later names, which belong to a later Index.
	names []K
	pages []*page[V]
	size  int
	// versions is the number of versions that existed when this Index was made.
	versions uint64
}

// Slot is the place of an entry, and the version of its value. The zero Slot is no place.
type Slot struct {
	// Number is -1 for a name that is not in the Index.
	Number int
	// version numbers all values that any Index of this line has held, from 1.
	version uint64
}

// Entry is a value and its slot. Value is nil for a name that is not in the Index.
type Entry[V any] struct {
	Slot
	Value *V
}

// pageSize is the number of entries that are copied when one of them changes.
const pageSize = 64

type page[V any] [pageSize]Entry[V]

// notFound is the entry of an unknown name.
func notFound[V any]() Entry[V] { return Entry[V]{Slot: Slot{Number: -1}} }

// Get returns the entry of a name.
func (x Index[K, V]) Get(name K) Entry[V] {
	number := x.slots.find(name, x.names)
	if number < 0 {
		return notFound[V]()
	}
	return x.At(number)
}

// At returns the entry in a slot. The slot must be less than Slots.
func (x Index[K, V]) At(number int) Entry[V] { return x.pages[number/pageSize][number%pageSize] }

// Len returns the number of entries.
func (x Index[K, V]) Len() int { return x.size }

// Slots returns the number of slots. It is at least Len.
func (x Index[K, V]) Slots() int { return len(x.names) }

// Versions returns the number of values that this Index and its predecessors have held. Two of them share all values but,
// at most, the difference.
func (x Index[K, V]) Versions() uint64 { return x.versions }

// All iterates over the entries in the order in which their names were added.
func (x Index[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for number, name := range x.names {
			value := x.At(number).Value
			if value != nil && !yield(name, value) {
				return
			}
		}
	}
}

// With returns the Index after a change of some names. current returns the new value of a name, nil if it was removed.
// An Index has at most one successor.
func (x Index[K, V]) With(changed iter.Seq[K], current func(K) *V) Index[K, V] {
	next := x
	next.pages = slices.Clone(x.pages)
	copied := map[int]bool{}
	for name := range changed {
		value := current(name)
		number := next.slots.find(name, next.names)
		if number < 0 {
			if value == nil {
				continue
			}
			number = next.add(name)
		}
		at := number / pageSize
		if !copied[at] {
			copied[at] = true
			page := *next.pages[at]
			next.pages[at] = &page
		}
		next.size += present(value) - present(next.At(number).Value)
		next.set(number, value)
	}
	if len(next.names) > pageSize && next.size < len(next.names)/2 {
		return next.compact()
	}
	return next
}

// set stores a new version in a slot whose page belongs to this Index alone.
func (x *Index[K, V]) set(number int, value *V) {
	x.slots.versions++
	x.versions = x.slots.versions
	x.pages[number/pageSize][number%pageSize] = Entry[V]{Slot{number, x.versions}, value}
}

func present[V any](value *V) int {
	if value == nil {
		return 0
	}
	return 1
}

// add gives a name the next slot.
func (x *Index[K, V]) add(name K) int {
	number := len(x.names)
	x.slots = x.slots.withRoom(x.names)
	x.slots.put(name, number)
	x.names = append(x.names, K(strings.Clone(string(name)))) // name may be part of a key
	if number/pageSize == len(x.pages) {
		x.pages = append(x.pages, &page[V]{})
	}
	return number
}

// compact returns the Index without the slots of removed names. Every entry gets a new version, because caches by slot
// and version must not take it for the earlier entry of that slot.
func (x Index[K, V]) compact() Index[K, V] {
	next := Index[K, V]{slots: newSlotTable(nil, x.slots)}
	for name, value := range x.All() {
		next.set(next.add(name), value)
		next.size++
	}
	next.versions = next.slots.versions
	return next
}
