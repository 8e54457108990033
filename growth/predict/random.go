package predict

// random is a sequence of pseudo-random numbers (SplitMix64). It starts from a constant: a model depends on its samples
// only.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// fraction returns a number from 0 to below 1.
func (r *random) fraction() float64 { return float64(r.next()>>11) / (1 << 53) }

// permutation returns the numbers below n in random order.
func (r *random) permutation(n int) []int {
	order := make([]int, n)
	for i := range order {
		j := int(r.next() % uint64(i+1))
		order[i] = order[j]
		order[j] = i
	}
	return order
}
