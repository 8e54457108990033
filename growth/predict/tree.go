package predict

import "slices"

// triedFeatures is the number of features among which a tree chooses each split.
const triedFeatures = (reported + 4) / 2

// node is a split, or a leaf if it has no children.
type node struct {
	feature int
	// Below goes to the left child, the next node. The others go to right.
	threshold float64
	right     int
	value     float64
}

// tree is an extremely randomised tree: thresholds are random, and the best of some random features splits a node. Nodes
// are in preorder.
type tree []node

// example is what a tree learns from.
type example struct {
	features features
	value    float64
}

func grow(examples []example, r *random) tree {
	var t tree
	t.add(examples, r)
	return t
}

// add adds the node of some examples and the nodes below it. It reorders the examples.
func (t *tree) add(examples []example, r *random) {
	at := len(*t)
	*t = append(*t, node{value: mean(examples)})
	feature, threshold, found := split(examples, r)
	if !found {
		return
	}
	left := partition(examples, feature, threshold)
	t.add(examples[:left], r)
	(*t)[at] = node{feature: feature, threshold: threshold, right: len(*t)}
	t.add(examples[left:], r)
}

// split returns the best of some random splits by the squares of the errors, if any feature differs.
func split(examples []example, r *random) (feature int, threshold float64, found bool) {
	best := 0.0
	tried := 0
	for _, f := range r.permutation(len(features{})) {
		low, high := span(examples, f)
		if low == high {
			continue
		}
		at := low + (high-low)*r.fraction()
		if at <= low { // rounded: one side would be empty
			at = high
		}
		if gain := gain(examples, f, at); !found || gain > best {
			feature, threshold, found, best = f, at, true, gain
		}
		if tried++; tried == triedFeatures {
			break
		}
	}
	return feature, threshold, found
}

func span(examples []example, feature int) (low, high float64) {
	low, high = examples[0].features[feature], examples[0].features[feature]
	for _, e := range examples[1:] {
		low = min(low, e.features[feature])
		high = max(high, e.features[feature])
	}
	return low, high
}

// gain is the decrease of the sum of squared errors, up to a constant.
func gain(examples []example, feature int, threshold float64) float64 {
	var sums, counts [2]float64
	for _, e := range examples {
		side := 0
		if e.features[feature] >= threshold {
			side = 1
		}
		sums[side] += e.value
		counts[side]++
	}
	return sums[0]*sums[0]/counts[0] + sums[1]*sums[1]/counts[1]
}

// partition moves the examples below a threshold to the front, in their order, and returns their number.
func partition(examples []example, feature int, threshold float64) int {
	slices.SortStableFunc(examples, func(a, b example) int {
		return side(a, feature, threshold) - side(b, feature, threshold)
	})
	return slices.IndexFunc(examples, func(e example) bool { return side(e, feature, threshold) == 1 })
}

func side(e example, feature int, threshold float64) int {
	if e.features[feature] < threshold {
		return 0
	}
	return 1
}

func (t tree) predict(f features) float64 {
	at := 0
	for t[at].right > 0 {
		if f[t[at].feature] < t[at].threshold {
			at++
		} else {
			at = t[at].right
		}
	}
	return t[at].value
}

func mean(examples []example) (sum float64) {
	for _, e := range examples {
		sum += e.value
	}
	return sum / float64(len(examples))
}
