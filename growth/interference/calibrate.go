package interference

import (
	"hash/fnv"
	"math"
	"slices"
)

const (
	// folds is the number of parts of the entries. Each is predicted from the others.
	folds = 5
	// minCalibration is the number of predictions below which deviations are not calibrated, pseudoCalibration the number
	// of predictions that a scale of 1 counts for.
	minCalibration, pseudoCalibration = 10, 10
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
		rest := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.fold() == n })
		fits[n] = newFit(prior, rest, activities)
	}
	f.pairScale = scale(fits, entries, func(e entry) bool { return len(e.others) == 1 })
	for n := range fits {
		fits[n].pairScale = f.pairScale
	}
	f.setScale = scale(fits, entries, func(e entry) bool { return len(e.others) > 1 })
	return f
}

// fold assigns all entries of one set to one part.
func (e entry) fold() int {
	hash := fnv.New32a()
	for _, k := range sorted(append([]Kind{e.own}, e.others...)) {
		hash.Write([]byte(k))
	}
	return int(hash.Sum32() % folds)
}

// scale returns the factor of the deviations of some entries, each predicted by the fit without it.
func scale(fits []*fit, entries []entry, some func(entry) bool) float64 {
	var squares []float64
	for _, e := range entries {
		if !some(e) {
			continue
		}
		p := fits[e.fold()].predict(Member{Kind: e.own}, members(e.others))
		needed := (square((e.mean-p.mean)/quantile90) - e.meanVariance()) / p.variance
		squares = append(squares, max(0, needed))
	}
	if len(squares) < minCalibration {
		return 1
	}
	slices.Sort(squares)
	n := float64(len(squares))
	square := (squares[int(0.8*n)]*n + pseudoCalibration) / (n + pseudoCalibration)
	return math.Sqrt(min(max(square, minScale), maxScale))
}
