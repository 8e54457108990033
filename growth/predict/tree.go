package predict

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

// grower grows a tree. Its lists of examples are indices: examples are large.
type grower struct {
	examples []example
	random   *random
	tree     tree
	spare    []int32 // for partition
}

func grow(examples []example, r *random) tree {
	g := grower{examples: examples, random: r, spare: make([]int32, 0, len(examples))}
	all := make([]int32, len(examples))
	for n := range all {
		all[n] = int32(n)
	}
	g.add(all)
	return g.tree
}

// add adds the node of some examples and the nodes below it. It reorders the list.
func (g *grower) add(some []int32) {
	at := len(g.tree)
	g.tree = append(g.tree, node{value: g.mean(some)})
	feature, threshold, found := g.split(some)
	if !found {
		return
	}
	left := g.partition(some, feature, threshold)
	g.add(some[:left])
	g.tree[at] = node{feature: feature, threshold: threshold, right: len(g.tree)}
	g.add(some[left:])
}

// split returns the best of some random splits by the squares of the errors, if any feature differs.
func (g *grower) split(some []int32) (feature int, threshold float64, found bool) {
	best := 0.0
	tried := 0
	for _, f := range g.random.permutation(len(features{})) {
		low, high := g.span(some, f)
		if low == high {
			continue
		}
		at := low + (high-low)*g.random.fraction()
		if at <= low { // rounded: one side would be empty
			at = high
		}
		if gain := g.gain(some, f, at); !found || gain > best {
			feature, threshold, found, best = f, at, true, gain
		}
		if tried++; tried == triedFeatures {
			break
		}
	}
	return feature, threshold, found
}

func (g *grower) span(some []int32, feature int) (low, high float64) {
	low = g.examples[some[0]].features[feature]
	high = low
	for _, n := range some[1:] {
		low = min(low, g.examples[n].features[feature])
		high = max(high, g.examples[n].features[feature])
	}
	return low, high
}

// gain is the decrease of the sum of squared errors, up to a constant.
func (g *grower) gain(some []int32, feature int, threshold float64) float64 {
	var sums, counts [2]float64
	for _, n := range some {
		e := &g.examples[n]
		side := 0
		if e.features[feature] >= threshold {
			side = 1
		}
		sums[side] += e.value
		counts[side]++
	}
	return sums[0]*sums[0]/counts[0] + sums[1]*sums[1]/counts[1]
}

// partition moves the examples below a threshold to the front and returns their number. Both sides keep their order.
func (g *grower) partition(some []int32, feature int, threshold float64) int {
	left, right := 0, g.spare[:0]
	for _, n := range some {
		if g.examples[n].features[feature] < threshold {
			some[left] = n
			left++
		} else {
			right = append(right, n)
		}
	}
	copy(some[left:], right)
	return left
}

func (g *grower) mean(some []int32) (sum float64) {
	for _, n := range some {
		sum += g.examples[n].value
	}
	return sum / float64(len(some))
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
