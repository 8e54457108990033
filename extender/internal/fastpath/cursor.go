package fastpath

// runs is the number of runs of consecutive slots that a Cursor follows at once.
const runs = 4

// Cursor looks up names one after another. kube-scheduler lists nodes as its parallel workers found them: a mix of a few
// runs, each in the order in which nodes were added. The next name is therefore mostly in the slot after a recent one, and
// is found without hashing.
type Cursor[K ~string, V any] struct {
	index Index[K, V]
	// next are the slots after recent finds, the latest first.
	next [runs]int
}

// Cursor starts at the first slot.
func (x Index[K, V]) Cursor() *Cursor[K, V] { return &Cursor[K, V]{index: x} }

// Get is Index.Get.
func (c *Cursor[K, V]) Get(name K) Entry[V] {
	for i, number := range c.next {
		if number < len(c.index.names) && c.index.names[number] == name {
			copy(c.next[1:i+1], c.next[:i])
			c.next[0] = number + 1
			return c.index.At(number)
		}
	}
	number := c.index.slots.find(name, c.index.names)
	if number < 0 {
		return notFound[V]()
	}
	copy(c.next[1:], c.next[:runs-1])
	c.next[0] = number + 1
	return c.index.At(number)
}
