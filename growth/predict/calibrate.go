package predict

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// coverage is the part of the observations in an interval.
	coverage = 0.8
	// minScores is the number of predictions below which a scale is that of the normal distribution.
	minScores = 20
)

// quantile90 is the upper end of a standard normal distribution's interval.
var quantile90 = distuv.UnitNormal.Quantile((1 + coverage) / 2)

// situation is what is known about a job when it is predicted.
type situation int

const (
	cold situation = iota
	elsewhere
	once
	twice
	fewTimes
	manyTimes
	situations
)

func situationOf(all []observed) situation {
	s := cold
	for _, o := range all {
		if !o.here {
			s = max(s, elsewhere)
			continue
		}
		switch n := len(o.errors); {
		case n == 1:
			s = once
		case n == 2:
			s = twice
		case n < 5:
			s = fewTimes
		default:
			s = manyTimes
		}
	}
	return s
}

// counts are the numbers of observations by which the situations with observations are calibrated.
var counts = [situations]int{elsewhere: 2, once: 1, twice: 2, fewTimes: 3, manyTimes: 5}

// scales has half of the length of an interval in each situation, in standard deviations.
type scales [situations]float64

func unscaled() (s scales) {
	for n := range s {
		s[n] = quantile90
	}
	return s
}

func (s scales) of(all []observed) float64 { return s[situationOf(all)] }

// calibrate predicts each point in each situation, and chooses the scales by the errors. errors has those of the cold
// prediction of each point.
func calibrate(points []point, errors [][]float64, e effects, jobs int) scales {
	scales := unscaled()
	r := random(1)
	for s := range situations {
		var scores []float64
		for n := range points {
			seen, next, possible := rehearse(points, errors, n, s, &r)
			if !possible {
				continue
			}
			mean, variance := e.correct(seen)
			for _, x := range next {
				scores = append(scores, math.Abs(x-mean)/math.Sqrt(variance))
			}
		}
		if len(scores) >= minScores {
			slices.Sort(scores)
			scales[s] = stat.Quantile(min(1, coverage*(1+1/float64(jobs))), stat.Empirical, scores, nil)
		}
	}
	return scales
}

// rehearse divides the errors of a point into those that were seen in a situation and those that come next. It is not
// possible for all points.
func rehearse(points []point, errors [][]float64, n int, s situation, r *random) (seen []observed, next []float64, possible bool) {
	next = errors[n]
	k := counts[s]
	switch s {
	case cold:
		return nil, next, true
	case elsewhere:
		other := slices.IndexFunc(points, func(p point) bool { return p.job == points[n].job && p.values != points[n].values })
		if other < 0 {
			return nil, nil, false
		}
		return []observed{{errors: some(errors[other], k, r)}}, next, true
	}
	if len(next) <= k {
		return nil, nil, false
	}
	next = some(next, len(next), r)
	return []observed{{here: true, errors: next[:k]}}, next[k:], true
}

// some returns up to k of the values in random order.
func some(values []float64, k int, r *random) []float64 {
	shuffled := make([]float64, 0, k)
	for _, n := range r.permutation(len(values)) {
		if len(shuffled) < k {
			shuffled = append(shuffled, values[n])
		}
	}
	return shuffled
}
