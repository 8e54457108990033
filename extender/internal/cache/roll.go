package cache

import (
	"hash/maphash"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/trellis-gpu/trellis/growth"
)

// Roll is the nodes of a snapshot: a map that never changes, made for being asked about thousands of names in a row. Each
// node has a place, a small number that it keeps for as long as it is known, so that what was found out about nodes can
// be kept in arrays beside (Verdicts). With makes the next Roll, at the cost of a page for each node that changed. The zero
// Roll is empty.
type Roll struct {
	register *register
	// names are the register's as far as this Roll knows them; later ones are of nodes that came after it.
	names []growth.NodeName
	pages []*page
	size  int
	// pictures is how many the register had numbered.
	pictures uint64
}

// Seat is a node at its place.
type Seat struct {
	Node  *Node
	Place int
	// picture numbers the pictures of all nodes that there ever were, from 1.
	picture uint64
}

// pageSize is how many seats are copied when one of them changes.
const pageSize = 64

type page [pageSize]Seat

// register finds the places of names. It only ever grows, and is shared by Rolls: one goroutine makes them, and readers
// see the slots that it fills at once or not at all. A node that is gone keeps its place until the register is made anew.
type register struct {
	seed     maphash.Seed
	slots    []atomic.Int32 // open addressing: place + 1, 0 for nothing
	pictures uint64         // how many were numbered; the maker's alone
	text     *strings.Builder
}

// sideBySide is how much text of names is kept in a piece: read in a row, they come from few cache lines.
const sideBySide = 4 << 10

// keep returns a copy of a name that lies beside the last one's. What a Builder has returned it does not change any more.
func (g *register) keep(name growth.NodeName) growth.NodeName {
	if g.text == nil || g.text.Cap()-g.text.Len() < len(name) {
		g.text = &strings.Builder{}
		g.text.Grow(max(sideBySide, len(name)))
	}
	from := g.text.Len()
	g.text.WriteString(string(name))
	return growth.NodeName(g.text.String()[from:])
}

// Seat returns a node's seat; its Node is nil where nothing is known of it.
func (r Roll) Seat(name growth.NodeName) Seat {
	if place := r.place(name); place >= 0 {
		return r.At(place)
	}
	return Seat{Place: -1}
}

// At returns the seat at a place that there is.
func (r Roll) At(place int) Seat { return r.pages[place/pageSize][place%pageSize] }

// place looks a name up; -1 for one that is not known.
func (r Roll) place(name growth.NodeName) int {
	if r.register == nil {
		return -1
	}
	slots := r.register.slots
	mask := uint64(len(slots) - 1)
	for at := maphash.String(r.register.seed, string(name)) & mask; ; at = (at + 1) & mask {
		place := int(slots[at].Load()) - 1
		if place < 0 {
			return -1
		}
		if place < len(r.names) && r.names[place] == name {
			return place
		}
	}
}

// Seats finds nodes one after another. Kube-scheduler lists them as its workers found them, each a stretch of the order in
// which nodes came to be known: the next one's place is mostly next to one of the last ones'.
type Seats struct {
	roll Roll
	// next are the places after those that were found, the latest first.
	next [stretches]int
}

// stretches is how many are followed at once.
const stretches = 4

// Seats begins at the first place.
func (r Roll) Seats() *Seats { return &Seats{roll: r} }

// Next is Roll.Seat.
func (s *Seats) Next(name growth.NodeName) Seat {
	for i, place := range s.next {
		if place < len(s.roll.names) && s.roll.names[place] == name {
			copy(s.next[1:i+1], s.next[:i])
			s.next[0] = place + 1
			return s.roll.At(place)
		}
	}
	place := s.roll.place(name)
	if place < 0 {
		return Seat{Place: -1}
	}
	copy(s.next[1:], s.next[:stretches-1])
	s.next[0] = place + 1
	return s.roll.At(place)
}

// Len counts the nodes.
func (r Roll) Len() int { return r.size }

// Pictures counts the pictures of nodes that were ever made. What two Rolls do not share is no more than the difference.
func (r Roll) Pictures() uint64 { return r.pictures }

// Places counts the places, which are as many as the nodes or more.
func (r Roll) Places() int { return len(r.names) }

// All lists the nodes, in the order in which they came to be known.
func (r Roll) All() iter.Seq2[growth.NodeName, *Node] {
	return func(yield func(growth.NodeName, *Node) bool) {
		for place, name := range r.names {
			if here := r.At(place).Node; here != nil && !yield(name, here) {
				return
			}
		}
	}
}

// With is the Roll after nodes have changed; now tells what a node has become, nil for nothing. Rolls are made one from
// another, never two from the same.
func (r Roll) With(changed iter.Seq[growth.NodeName], now func(growth.NodeName) *Node) Roll {
	next := r
	next.pages = append([]*page(nil), r.pages...)
	copied := make(map[int]bool)
	for name := range changed {
		here := now(name)
		place := next.place(name)
		if place < 0 {
			if here == nil {
				continue
			}
			place = next.enter(name)
		}
		at := place / pageSize
		if !copied[at] {
			copied[at] = true
			page := *next.pages[at]
			next.pages[at] = &page
		}
		next.register.pictures++
		seat := &next.pages[at][place%pageSize]
		next.size += count(here) - count(seat.Node)
		*seat = Seat{Node: here, Place: place, picture: next.register.pictures}
		next.pictures = next.register.pictures
	}
	if len(next.names) > pageSize && next.size < len(next.names)/2 {
		return next.rebuilt()
	}
	return next
}

func count(n *Node) int {
	if n == nil {
		return 0
	}
	return 1
}

// enter gives a name a place.
func (r *Roll) enter(name growth.NodeName) int {
	if r.register == nil {
		r.register = registered(nil, nil)
	}
	place := len(r.names)
	r.names = append(r.names, r.register.keep(name))
	if place/pageSize == len(r.pages) {
		r.pages = append(r.pages, &page{})
	}
	if 2*len(r.names) > len(r.register.slots) {
		r.register = registered(r.names, r.register)
		return place
	}
	r.register.put(name, place)
	return place
}

// registered makes a register with room for as many names again.
func registered(names []growth.NodeName, before *register) *register {
	size := pageSize
	for size < 4*len(names) {
		size *= 2
	}
	next := &register{seed: maphash.MakeSeed(), slots: make([]atomic.Int32, size)}
	if before != nil {
		next.pictures, next.text = before.pictures, before.text
	}
	for place, name := range names {
		next.put(name, place)
	}
	return next
}

func (g *register) put(name growth.NodeName, place int) {
	mask := uint64(len(g.slots) - 1)
	at := maphash.String(g.seed, string(name)) & mask
	for g.slots[at].Load() != 0 {
		at = (at + 1) & mask
	}
	g.slots[at].Store(int32(place + 1))
}

// rebuilt is the Roll without the places of nodes that are gone. Everyone gets a new place, and a new picture's number,
// since what is kept by place does not know that it is another's now.
func (r Roll) rebuilt() Roll {
	next := Roll{register: registered(nil, r.register)}
	for name, here := range r.All() {
		place := next.enter(name)
		next.register.pictures++
		next.pages[place/pageSize][place%pageSize] = Seat{Node: here, Place: place, picture: next.register.pictures}
		next.size++
	}
	next.pictures = next.register.pictures
	return next
}
