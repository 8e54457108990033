package interference

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

const (
	// folds is the number of parts of the entries. Each is predicted from the others.
	folds = 5
	// minCalibration is the number of predictions below which deviations are not calibrated.
	minCalibration = 10
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
// entries if it contains 80 % of the seen ones and one more (split conformal prediction: Papadopoulos et al., ECML 2002).
func scale(fits []*fit, entries []entry, some func(entry) bool) float64 {
	var all []scaled
	var weights float64
	for _, e := range entries {
		if !some(e) {
			continue
		}
		p := fits[e.fold()].predict(Member{Kind: e.own}, members(e.others))
		value, variance := e.logarithm(p.mean)
		needed := (square((value-p.mean)/quantile90) - variance) / p.variance
		all = append(all, scaled{square: max(0, needed), weight: p.variance / (p.variance + variance)})
		weights += all[len(all)-1].weight
	}
	slices.SortFunc(all, func(a, b scaled) int { return cmp.Compare(a.square, b.square) })
	below := 0.0
	for _, s := range all {
		if below += s.weight; below >= 0.8*(weights+weights/float64(len(all))) {
			return math.Sqrt(min(max(s.square, minScale), maxScale))
		}
	}
	return 1
}

// scaled is the square of the scale at which an interval ends at a measurement. A measurement with much noise says less
// about it.
type scaled struct{ square, weight float64 }
