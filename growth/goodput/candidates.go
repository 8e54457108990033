package goodput

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// bounds returns the smallest and the largest size that may be tried.
func (s State) bounds() (low, high int) {
	low, high = s.Range.Min, s.Range.Max
	if s.RejectedUpTo > 0 {
		low = max(low, s.RejectedUpTo+1)
	}
	if s.RejectedFrom > 0 {
		high = min(high, s.RejectedFrom-1)
	}
	return low, high
}

// candidates returns the sizes to choose from, in order: the job's own times powers of two, powers of two and half as much again,
// which suit the hardware, the ends of the range, and those that were measured.
func (s State) candidates() []int {
	low, high := s.bounds()
	var sizes []int
	add := func(size int) {
		if size >= low && size <= high && s.fits(size) {
			sizes = append(sizes, size)
		}
	}
	add(s.Range.Min)
	add(s.Range.Max)
	for own := s.Range.Default; own >= low && own > 0; own /= 2 {
		add(own)
	}
	for own := s.Range.Default; own <= high; own *= 2 {
		add(own)
	}
	for power := 1; power <= high; power *= 2 {
		add(power)
		add(power / 2 * 3)
	}
	for _, p := range s.validPoints() {
		add(p.Batch)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// fits reports whether a size is predicted to leave headroom in the memory. Sizes that were measured fit, and so do smaller ones.
func (s State) fits(batch int) bool {
	largest := s.Range.Default
	for _, p := range s.validPoints() {
		largest = max(largest, p.Batch)
	}
	if batch <= largest {
		return true
	}
	memory, known := s.memory(batch)
	return known && float64(memory) <= (1-headroom)*float64(s.MemoryLimit)
}

// memory predicts the memory at a size from the line through the smallest and the largest measured size. With one size, all
// memory is assumed to be the batch's. It is unknown without measurements.
func (s State) memory(batch int) (growth.MiB, bool) {
	var first, last Point
	for _, p := range s.validPoints() {
		if p.Memory <= 0 {
			continue
		}
		if first.Batch == 0 || p.Batch < first.Batch {
			first = p
		}
		if p.Batch > last.Batch {
			last = p
		}
	}
	if last.Batch == 0 {
		return 0, false
	}
	each := float64(last.Memory) / float64(last.Batch)
	if last.Batch > first.Batch {
		each = max(0, float64(last.Memory-first.Memory)/float64(last.Batch-first.Batch))
	}
	predicted := float64(last.Memory) + each*float64(batch-last.Batch)
	return growth.MiB(clampTo(predicted, 0, math.MaxInt32)), true
}
