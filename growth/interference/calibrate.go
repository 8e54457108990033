package interference

import (
	"hash/fnv"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	// folds is the number of parts of the entries. Each is predicted from the others.
	folds = 5
	// minCalibration is the number of predictions below which deviations are not calibrated.
	minCalibration = 10
	// coverage is the part of the measurements in an interval.
	coverage = 0.8
	// minScale and maxScale bound the square of a scale.
	minScale, maxScale = 0.2, 9
)

// calibrated fits entries, and scales the deviations of predictions so that 80 % intervals contain 80 % of the entries
// that are predicted without them.
func calibrated(prior Model, entries []entry, activities map[Kind]activity) *fit {
	f := newFit(prior, entries, activities)
	if len(entries) < minCalibration {
		return f
	}
	fits := make([]*fit, folds)
	for n := range fits {
		fits[n] = newFit(prior, rest(entries, n), activities)
	}
	f.pairScale = scale(fits, entries, func(e entry) bool { return len(e.others) == 1 })
	f.measure(entries)
	for n := range fits {
		fits[n].pairScale = f.pairScale
		fits[n].measure(rest(entries, n))
	}
	f.setScale = scale(fits, entries, func(e entry) bool { return len(e.others) > 1 })
	return f
}

// rest returns the entries outside a part.
func rest(entries []entry, part int) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.fold() == part })
}

// fold assigns all entries of one set to one part.
func (e entry) fold() int {
	hash := fnv.New32a()
	for _, k := range slices.Sorted(slices.Values(append([]Kind{e.own}, e.others...))) {
		hash.Write([]byte(k))
	}
	return int(hash.Sum32() % folds)
}

// scale returns the factor of the deviations of some entries, each predicted by the fit without it. An interval contains 80 % of unseen
// entries if it contains 80 % of the seen ones and one more (split conformal prediction: Papadopoulos et al., ECML 2002). Fewer than four
// entries have not as many.
func scale(fits []*fit, entries []entry, some func(entry) bool) float64 {
	var squares, weights []float64
	for _, e := range entries {
		if !some(e) {
			continue
		}
		p := fits[e.fold()].predict(Member{Kind: e.own}, members(e.others))
		value, variance := e.logarithm(p.mean)
		squares = append(squares, max(0, (square((value-p.mean)/quantile90)-variance)/p.variance))
		weights = append(weights, p.variance/(p.variance+variance)) // a measurement with much noise says less about the scale
	}
	part := coverage * (1 + 1/float64(len(squares)))
	if part > 1 {
		return 1
	}
	part = min(part, 1-1e-9) // for all of the weights gonum panics if their sum depends on the order
	stat.SortWeighted(squares, weights)
	return math.Sqrt(min(max(stat.Quantile(part, stat.Empirical, squares, weights), minScale), maxScale))
}
