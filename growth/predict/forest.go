package predict

import (
	"math"

	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

const (
	// trees is the number of trees of each kind.
	trees = 200
	// seenTenths is the part of the jobs that a tree learns from, in tenths.
	seenTenths = 8
)

// forest has trees of two kinds, and predicts the geometric mean of their medians: few false samples move few trees. The errors of the two differ, so
// the mean is better than either.
type forest struct {
	// relative trees learn the deviations from the law. Their splits separate what differs by a factor.
	relative []bagged
	// absolute trees learn seconds. Their splits separate the slow from the slowest.
	absolute []bagged
}

// bagged is a tree that has learned from some jobs, those in its bag. The others are out of bag.
type bagged struct {
	tree  tree
	inBag []bool // by job
}

// newForest learns from the points of a number of jobs, which must be more than one.
func newForest(points []point, jobs int) *forest {
	f := &forest{}
	r := random(1)
	for range trees {
		f.relative = append(f.relative, newBagged(points, jobs, &r, func(p point) float64 { return p.value }))
		f.absolute = append(f.absolute, newBagged(points, jobs, &r, func(p point) float64 { return float64(seconds(p.value + p.values.law())) }))
	}
	return f
}

func newBagged(points []point, jobs int, r *random, value func(point) float64) bagged {
	b := bagged{inBag: make([]bool, jobs)}
	for _, job := range r.permutation(jobs)[:max(1, jobs*seenTenths/10)] {
		b.inBag[job] = true
	}
	var examples []example
	for _, p := range points {
		if b.inBag[p.job] {
			examples = append(examples, example{features: p.features, value: value(p)})
		}
	}
	b.tree = grow(examples, r)
	return b
}

// predict returns the deviation from the law.
func (f *forest) predict(v values) float64 {
	return f.vote(v, v.features(), func(bagged) bool { return true })
}

// unseen predicts a point of a job by the trees that have not learned from it.
func (f *forest) unseen(p point) float64 {
	return f.vote(p.values, p.features, func(b bagged) bool { return !b.inBag[p.job] })
}

func (f *forest) vote(v values, x features, use func(bagged) bool) float64 {
	relative, voted := vote(f.relative, x, use)
	absolute, votedToo := vote(f.absolute, x, use)
	if !voted || !votedToo {
		return 0
	}
	return (relative + math.Log(absolute) - v.law()) / 2
}

// vote returns the median of some trees, if there are any.
func vote(trees []bagged, x features, use func(bagged) bool) (value float64, voted bool) {
	var all []float64
	for _, b := range trees {
		if use(b) {
			all = append(all, b.tree.predict(x))
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return numerics.Median(all), true
}
