package predict

const (
	trees = 200
	// seenTenths is the part of the jobs that a tree learns from, in tenths.
	seenTenths = 8
)

// forest predicts the median of its trees: few false samples move few trees.
type forest struct {
	trees []tree
	// seen has, for each tree, whether it has learned from a job.
	seen [][]bool
}

// newForest learns from the points of a number of jobs, which must be more than one.
func newForest(points []point, jobs int) *forest {
	f := &forest{}
	r := random(1)
	examples := make([]example, 0, len(points))
	for range trees {
		seen := make([]bool, jobs)
		for _, job := range r.permutation(jobs)[:max(1, jobs*seenTenths/10)] {
			seen[job] = true
		}
		examples = examples[:0]
		for _, p := range points {
			if seen[p.job] {
				examples = append(examples, p.example)
			}
		}
		f.trees = append(f.trees, grow(examples, &r))
		f.seen = append(f.seen, seen)
	}
	return f
}

func (f *forest) predict(x features) float64 {
	return f.vote(x, func(int) bool { return true })
}

// unseen predicts a point of a job by the trees that have not learned from it.
func (f *forest) unseen(p point) float64 {
	return f.vote(p.example.features, func(tree int) bool { return !f.seen[tree][p.job] })
}

func (f *forest) vote(x features, use func(tree int) bool) float64 {
	var all []float64
	for n, t := range f.trees {
		if use(n) {
			all = append(all, t.predict(x))
		}
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}
