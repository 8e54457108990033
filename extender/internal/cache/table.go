package cache

import (
	"hash/maphash"
	"iter"
	"slices"
)

// fan is how many branches a table has, and how many buckets each of them: 4,096 buckets hold a few entries each in a
// cluster of 20,000 pods.
const fan = 64

// Table is a map that never changes: With makes the next one, which shares with its predecessor all that is the same.
// The cost of a change is that of copying one bucket and the two arrays above it, however many entries there are. The
// zero Table is empty.
type Table[K ~string, V any] struct {
	root *[fan]*branch[K, V]
	seed maphash.Seed
	size int
}

type branch[K ~string, V any] [fan][]entry[K, V]

type entry[K ~string, V any] struct {
	key   K
	value V
}

// Get returns the value of a key.
func (t Table[K, V]) Get(key K) (V, bool) {
	if t.root != nil {
		at, in := t.place(key)
		if b := t.root[at]; b != nil {
			for i := range b[in] {
				if b[in][i].key == key {
					return b[in][i].value, true
				}
			}
		}
	}
	var none V
	return none, false
}

// Len counts the entries.
func (t Table[K, V]) Len() int { return t.size }

// All lists the entries, in no order.
func (t Table[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.root == nil {
			return
		}
		for _, b := range t.root {
			if b == nil {
				continue
			}
			for _, bucket := range b {
				for _, e := range bucket {
					if !yield(e.key, e.value) {
						return
					}
				}
			}
		}
	}
}

// With is the table after the keys have changed; now tells what a key has become, false for nothing.
func (t Table[K, V]) With(changed iter.Seq[K], now func(K) (V, bool)) Table[K, V] {
	next := Table[K, V]{root: &[fan]*branch[K, V]{}, seed: t.seed, size: t.size}
	if t.root == nil {
		next.seed = maphash.MakeSeed()
	} else {
		*next.root = *t.root
	}
	var copied [fan]bool
	for key := range changed {
		at, in := next.place(key)
		if b := next.root[at]; !copied[at] {
			copied[at], next.root[at] = true, &branch[K, V]{}
			if b != nil {
				*next.root[at] = *b
			}
		}
		value, present := now(key)
		bucket := next.root[at][in]
		replaced := without(bucket, key)
		if present {
			replaced = append(replaced, entry[K, V]{key, value})
		}
		next.root[at][in] = replaced
		next.size += len(replaced) - len(bucket)
	}
	return next
}

// without copies a bucket, leaving a key out and room for one more.
func without[K ~string, V any](bucket []entry[K, V], key K) []entry[K, V] {
	kept := make([]entry[K, V], 0, len(bucket)+1)
	kept = append(kept, bucket...)
	return slices.DeleteFunc(kept, func(e entry[K, V]) bool { return e.key == key })
}

func (t Table[K, V]) place(key K) (at, in uint64) {
	hash := maphash.String(t.seed, string(key))
	return hash % fan, hash / fan % fan
}
