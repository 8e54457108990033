package fastpath

import (
	"hash/maphash"
	"sync/atomic"
)

// slotTable finds the slots of names, by open addressing. It only grows, and one line of Indexes shares it: a single
// goroutine adds names, and readers see a cell filled or empty. A removed name keeps its slot until compact.
type slotTable[K ~string] struct {
	seed  maphash.Seed
	cells []atomic.Int32 // slot + 1; 0 is empty
	// versions is the number of versions so far. Only the goroutine that makes Indexes uses it.
	versions uint64
}

// newSlotTable returns a table of the names with room for as many more.
func newSlotTable[K ~string](names []K, before *slotTable[K]) *slotTable[K] {
	size := pageSize
	for size < 4*len(names) {
		size *= 2
	}
	next := &slotTable[K]{seed: maphash.MakeSeed(), cells: make([]atomic.Int32, size)}
	if before != nil {
		next.versions = before.versions
	}
	for number, name := range names {
		next.put(name, number)
	}
	return next
}

// withRoom returns a table with room for one more name: this one, or a larger copy.
func (t *slotTable[K]) withRoom(names []K) *slotTable[K] {
	if t == nil || 2*(len(names)+1) > len(t.cells) {
		return newSlotTable(names, t)
	}
	return t
}

// put adds a name.
func (t *slotTable[K]) put(name K, number int) {
	mask := uint64(len(t.cells) - 1)
	at := maphash.String(t.seed, string(name)) & mask
	for t.cells[at].Load() != 0 {
		at = (at + 1) & mask
	}
	t.cells[at].Store(int32(number + 1))
}

// find returns the slot of a name, -1 for none. names are those of the Index that asks, by slot.
func (t *slotTable[K]) find(name K, names []K) int {
	if t == nil {
		return -1
	}
	mask := uint64(len(t.cells) - 1)
	for at := maphash.String(t.seed, string(name)) & mask; ; at = (at + 1) & mask {
		number := int(t.cells[at].Load()) - 1
		if number < 0 {
			return -1
		}
		if number < len(names) && names[number] == name {
			return number
		}
	}
}
