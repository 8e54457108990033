package fastpath

import (
	"hash/maphash"
	"iter"
	"slices"
)

// fan is the number of branches of a Map, and of buckets of a branch: 4,096 buckets hold a few entries each in a cluster
// of 20,000 pods.
const fan = 64

// Map is an immutable map. With returns the next Map, which shares everything unchanged with this one: a change copies one
// bucket and the two arrays above it, independent of the size of the Map. The zero Map is empty.
type Map[K ~string, V any] struct {
	root *[fan]*branch[K, V]
	seed maphash.Seed
	size int
}

type branch[K ~string, V any] [fan][]pair[K, V]

type pair[K ~string, V any] struct {
	key   K
	value V
}

// Get returns the value of a key.
func (m Map[K, V]) Get(key K) (V, bool) {
	var none V
	if m.root == nil {
		return none, false
	}
	at, in := m.bucket(key)
	b := m.root[at]
	if b == nil {
		return none, false
	}
	for i := range b[in] {
		if b[in][i].key == key {
			return b[in][i].value, true
		}
	}
	return none, false
}

// Len returns the number of entries.
func (m Map[K, V]) Len() int { return m.size }

// All iterates over the entries, in no order.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if m.root == nil {
			return
		}
		for _, b := range m.root {
			if b == nil {
				continue
			}
			for _, bucket := range b {
				for _, p := range bucket {
					if !yield(p.key, p.value) {
						return
					}
				}
			}
		}
	}
}

// With returns the Map after a change of some keys. current returns the new value of a key, false if it was removed.
func (m Map[K, V]) With(changed iter.Seq[K], current func(K) (V, bool)) Map[K, V] {
	next := Map[K, V]{root: &[fan]*branch[K, V]{}, seed: m.seed, size: m.size}
	if m.root == nil {
		next.seed = maphash.MakeSeed()
	} else {
		*next.root = *m.root
	}
	var copied [fan]bool
	for key := range changed {
		at, in := next.bucket(key)
		if !copied[at] {
			copied[at] = true
			next.root[at] = cloneBranch(next.root[at])
		}
		bucket := next.root[at][in]
		replaced := without(bucket, key)
		value, present := current(key)
		if present {
			replaced = append(replaced, pair[K, V]{key, value})
		}
		next.root[at][in] = replaced
		next.size += len(replaced) - len(bucket)
	}
	return next
}

func cloneBranch[K ~string, V any](b *branch[K, V]) *branch[K, V] {
	clone := &branch[K, V]{}
	if b != nil {
		*clone = *b
	}
	return clone
}

// without copies a bucket without a key, with room for one more entry.
func without[K ~string, V any](bucket []pair[K, V], key K) []pair[K, V] {
	kept := make([]pair[K, V], 0, len(bucket)+1)
	kept = append(kept, bucket...)
	return slices.DeleteFunc(kept, func(p pair[K, V]) bool { return p.key == key })
}

// bucket returns the branch of a key, and its bucket in the branch.
func (m Map[K, V]) bucket(key K) (at, in uint64) {
	hash := maphash.String(m.seed, string(key))
	return hash % fan, hash / fan % fan
}
