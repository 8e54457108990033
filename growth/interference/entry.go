package interference

import (
	"math"
	"strings"
)

const (
	// minExcess and maxExcess bound the excess of a slowdown, whose logarithm is predicted. A measured excess may be
	// smaller, and negative.
	minExcess, maxExcess = 0.005, 31
	// noise is the standard deviation of a measured slowdown, relative to it, in addition to what the measurement itself
	// reports: the same set is not equally fast at another time or on another node. It does not average out entirely:
	// bias remains after any number of observations.
	noise, bias = 0.03, 0.01
	// halfObservation is the time of measurement that counts as half an observation.
	halfObservation = 10
	// maxWeight bounds what is remembered, in observations: a job that changes is learned again.
	maxWeight = 20
	// maxVariance bounds the variance of an observation.
	maxVariance = 100
	// maxSurprise bounds the influence of one observation, in standard deviations of what is expected.
	maxSurprise = 3
	// usualSurprise is the distance of a first observation from what is expected, in standard deviations, beyond which it
	// counts as less certain.
	usualSurprise = 3
)

// entry is what is known about the excess of one kind of job next to others.
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

// observation is one job's part of a measurement: its excess.
type observation struct{ excess, variance, weight float64 }

// observed takes a reported deviation for that of a measurement of this duration. One that is not reported is the larger the
// shorter the measurement was.
func observed(m Member, seconds float64) observation {
	slowdown := min(1/m.Speed, 1+maxExcess)
	weight := seconds / (seconds + halfObservation)
	variance := square(noise * slowdown)
	if m.Deviation > 0 {
		variance += square(m.Deviation * slowdown * slowdown)
	} else {
		variance /= weight
	}
	return observation{excess: slowdown - 1, variance: min(variance, maxVariance), weight: weight}
}

// add adds an observation. expected is the distribution of the excess before the first one. A false observation does
// bounded harm: a surprising one is uncertain if it is the first, and moves the mean by a bounded distance otherwise. If
// it is true, it widens the variance, and the next one moves the mean further.
func (e *entry) add(o observation, expected normal) {
	if e.weight == 0 {
		spread := usualSurprise * math.Sqrt(expected.variance)
		low, high := math.Exp(expected.mean-spread), math.Exp(expected.mean+spread)
		surprise := max(0, o.excess-high, low-o.excess)
		surprise = max(0, surprise-usualSurprise*math.Sqrt(o.variance))
		e.mean = o.excess
		e.variance = min(o.variance+square(surprise), maxVariance)
		e.weight = o.weight
		return
	}
	e.weight = min(e.weight+o.weight, maxWeight)
	part := o.weight / e.weight
	difference := clip(o.excess-e.mean, maxSurprise*math.Sqrt(e.variance+o.variance))
	e.mean += part * difference
	e.variance += part * ((1-part)*square(difference) + o.variance - e.variance)
	e.variance = min(max(e.variance, square(noise)), maxVariance)
}

// meanVariance is the variance of the mean. A single observation is as certain as it says, however short it was.
func (e *entry) meanVariance() float64 { return e.variance/max(1, e.weight) + square(bias*(1+e.mean)) }

// logarithm returns the logarithm of the mean and its variance, linear at the excess which is next to an expected one
// and at most two standard deviations from the mean. A logarithm of the mean itself would be biased where noise is large.
func (e *entry) logarithm(expected float64) (value, variance float64) {
	v := e.meanVariance()
	deviation := math.Sqrt(v)
	at := min(max(math.Exp(expected), e.mean-2*deviation, minExcess), max(e.mean+2*deviation, minExcess))
	return math.Log(at) + (e.mean-at)/at, v / square(at)
}

// scaled returns the entry for jobs whose excess is larger by a factor.
func (e entry) scaled(factor float64) entry {
	e.mean *= factor
	e.variance *= square(factor)
	return e
}

// value is what keeps an entry when there are too many. It falls with the number of observations since its last one.
func (e *entry) value(now int64) float64 { return e.weight / (1 + float64(now-e.last)/MaxPairs) }

func clip(x, bound float64) float64 { return min(max(x, -bound), bound) }

func square(x float64) float64 { return x * x }
