package interference

import (
	"cmp"
	"math"
	"slices"
)

// The logarithm of the excess of job i next to job k is
//
//	log c + log a_i + log a_k + sensitivity_i + pressure_k + residual_ik
//
// All terms after the activities have normal prior distributions with mean 0, and c one around its prior. Their
// variances add up to that of the prior contention, in these parts. All but the first are re-estimated from the data.
const (
	contentionPart, kindPart, residualPart = 0.5, 0.2, 0.1
	// crowding is the prior standard deviation of the exponent of the number of other jobs: 0 means that the excesses of
	// pairs add up.
	crowding = 0.3
	// pseudo is the number of observations that the prior variances count for.
	pseudo = 4
	// correlation is that of the errors of the pairs in a set.
	correlation = 0.5
	// rounds is the number of rounds of coordinate descent, outlier the residual, in standard deviations, beyond which an
	// entry has only a linear influence (Huber).
	rounds, outlier = 30, 2
)

// effect is a normally distributed term.
type effect struct{ mean, variance float64 }

// kindEffects are the terms of one kind of job.
type kindEffects struct {
	activity              float64
	sensitivity, pressure effect
}

// fit holds the fitted terms. It does not change after newFit and calibrated.
type fit struct {
	base       float64 // logarithm of the median of c before any measurement
	contention effect
	crowding   effect
	kinds      map[Kind]*kindEffects
	entries    map[string]entry
	// The variances of the terms: sensitivities, pressures, residuals of pairs, and of larger sets.
	sensitivity, pressure, pair, set float64
	// pairScale and setScale multiply standard deviations so that 80 % intervals contain 80 % of the measurements.
	pairScale, setScale float64
}

// newFit fits entries, which are sorted.
func newFit(prior Model, entries []entry, activities map[Kind]activity) *fit {
	c := float64(prior.Contention)
	variance := math.Log1p(square(float64(prior.Deviation) / c))
	f := &fit{
		base:        math.Log(c) - variance/2,
		contention:  effect{variance: contentionPart * variance},
		crowding:    effect{variance: square(crowding)},
		kinds:       map[Kind]*kindEffects{},
		entries:     make(map[string]entry, len(entries)),
		sensitivity: kindPart * variance,
		pressure:    kindPart * variance,
		pair:        residualPart * variance,
		set:         residualPart * variance,
		pairScale:   1,
		setScale:    1,
	}
	if len(entries) == 0 {
		return f
	}
	for _, e := range entries {
		f.entries[setKey(e.own, e.others)] = e
		for _, k := range append([]Kind{e.own}, e.others...) {
			if f.kinds[k] == nil {
				f.kinds[k] = &kindEffects{activity: 1}
				if a, ok := activities[k]; ok && a.weight > 0 {
					f.kinds[k].activity = a.mean
				}
			}
		}
	}
	d := newDescent(f, entries)
	for range rounds {
		d.round()
	}
	return f
}

// kind returns the effects of a kind; those of an unknown one have their prior distributions.
func (f *fit) kind(k Kind) kindEffects {
	if known := f.kinds[k]; known != nil {
		return *known
	}
	return kindEffects{activity: 1, sensitivity: effect{variance: f.sensitivity}, pressure: effect{variance: f.pressure}}
}

// predict returns the distribution of the logarithm of a job's excess. There is at least one other job.
func (f *fit) predict(own Member, others []Member) normal {
	i := f.kind(own.Kind)
	shift := math.Log(own.active(i.activity, minActivity) / i.activity)
	pairs := make([]normal, len(others))
	kinds := make([]Kind, len(others))
	for n, other := range others {
		k := f.kind(other.Kind)
		pairs[n] = f.pairOf(own.Kind, i, other.Kind, k)
		pairs[n].mean += shift + math.Log(other.active(k.activity, minActivity)/k.activity)
		kinds[n] = other.Kind
	}
	if len(others) == 1 {
		return pairs[0]
	}
	p := f.together(pairs)
	slices.Sort(kinds)
	if e, measured := f.entries[setKey(own.Kind, kinds)]; measured {
		return p.given(e.mean+shift, e.meanVariance())
	}
	return p
}

// pairOf returns the distribution for a pair with the usual activities of their kinds.
func (f *fit) pairOf(own Kind, i kindEffects, other Kind, k kindEffects) normal {
	p := normal{
		mean:     f.base + f.contention.mean + math.Log(i.activity) + math.Log(k.activity) + i.sensitivity.mean + k.pressure.mean,
		variance: f.contention.variance + i.sensitivity.variance + k.pressure.variance + f.pair,
	}
	p.variance *= square(f.pairScale)
	if e, measured := f.entries[setKey(own, []Kind{other})]; measured {
		return p.given(e.mean, e.meanVariance())
	}
	return p
}

// together adds up the excesses of pairs.
func (f *fit) together(pairs []normal) normal {
	slices.SortFunc(pairs, func(a, b normal) int { return cmp.Compare(a.mean, b.mean) }) // the sum is the same in any order
	sum, parts := logSum(pairs)
	var deviations, variances float64
	for n, p := range pairs {
		deviations += parts[n] * math.Sqrt(p.variance)
		variances += square(parts[n]) * p.variance
	}
	crowd := math.Log(float64(len(pairs)))
	variance := correlation*square(deviations) + (1-correlation)*variances + f.set + square(crowd)*f.crowding.variance
	return normal{mean: sum + crowd*f.crowding.mean, variance: variance * square(f.setScale)}
}

// logSum returns the logarithm of the sum of exponentials, and the part of each in the sum.
func logSum(pairs []normal) (sum float64, parts []float64) {
	largest := math.Inf(-1)
	for _, p := range pairs {
		largest = max(largest, p.mean)
	}
	parts = make([]float64, len(pairs))
	var total float64
	for n, p := range pairs {
		parts[n] = math.Exp(p.mean - largest)
		total += parts[n]
	}
	for n := range parts {
		parts[n] /= total
	}
	return largest + math.Log(total), parts
}
