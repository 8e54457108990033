package interference

import (
	"math"
	"slices"
	"strings"
)

const (
	// minExcess and maxExcess bound the excess of a slowdown. Less than 2 % cannot be distinguished from noise.
	minExcess, maxExcess = 0.02, 31
	// noise is the standard deviation of a measured slowdown, relative to it, in addition to what the measurement itself
	// reports: the same set is not equally fast at another time or on another node. It does not average out entirely:
	// bias remains after any number of observations.
	noise, bias = 0.04, 0.01
	// minLever bounds how much the logarithm magnifies the noise of a small excess.
	minLever = 0.05
	// halfObservation is the time of measurement that counts as half an observation.
	halfObservation = 10
	// maxWeight bounds what is remembered, in observations: a job that changes is learned again.
	maxWeight = 20
	// maxEntryVariance bounds the variance of an observation.
	maxEntryVariance = 4
	// maxSurprise bounds the influence of one observation, in standard deviations of what is expected.
	maxSurprise = 3
)

// entry is what is known about the slowdown of one kind of job next to others: the mean of the logarithms of its excess.
type entry struct {
	own    Kind
	others []Kind // sorted
	mean   float64
	// variance is that of a single observation, weight the number of observations.
	variance, weight float64
	// last is the number of observations that the Learner had made at the last one of this entry.
	last int64
}

// setKey identifies a job and the others by their kinds. The others are sorted.
func setKey(own Kind, others []Kind) string {
	var key strings.Builder
	key.WriteString(string(own))
	for _, other := range others {
		key.WriteByte('|')
		key.WriteString(string(other))
	}
	return key.String()
}

// observation is one job's part of a measurement.
type observation struct{ value, variance, weight float64 }

func observed(m Member, seconds float64) observation {
	slowdown := 1 / m.Speed
	excess := min(max(slowdown-1, minExcess), maxExcess)
	reported := m.Deviation * slowdown * slowdown
	lever := max(excess, minLever)
	return observation{
		value:    math.Log(excess),
		variance: (square(reported) + square(noise*slowdown)) / square(lever),
		weight:   seconds / (seconds + halfObservation),
	}
}

// add adds an observation. expected is the distribution of the value before the first one. An observation counts as no
// more surprising than maxSurprise, so a false one does bounded harm. A true one widens the variance and moves the mean
// further next time.
func (e *entry) add(o observation, expected normal) {
	if e.weight == 0 {
		e.mean = expected.mean + clip(o.value-expected.mean, maxSurprise*math.Sqrt(expected.variance+o.variance))
		e.variance = min(o.variance, maxEntryVariance)
		e.weight = o.weight
		return
	}
	e.weight = min(e.weight+o.weight, maxWeight)
	part := o.weight / e.weight
	difference := clip(o.value-e.mean, maxSurprise*math.Sqrt(e.variance+o.variance))
	e.mean += part * difference
	e.variance += part * ((1-part)*square(difference) + o.variance - e.variance)
	e.variance = min(max(e.variance, square(noise)), maxEntryVariance)
}

// meanVariance is the variance of the mean.
func (e *entry) meanVariance() float64 {
	excess := math.Exp(e.mean)
	return e.variance/e.weight + square(bias*(1+excess)/max(excess, minLever))
}

// value is what keeps an entry when there are too many. It falls with the number of observations since its last one.
func (e *entry) value(now int64) float64 { return e.weight / (1 + float64(now-e.last)/MaxPairs) }

func sorted(kinds []Kind) []Kind {
	kinds = slices.Clone(kinds)
	slices.Sort(kinds)
	return kinds
}

func clip(x, bound float64) float64 { return min(max(x, -bound), bound) }

func square(x float64) float64 { return x * x }
