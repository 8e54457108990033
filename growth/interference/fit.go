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
	contentionPart, kindPart, pairPart = 0.2, 0.3, 0.2
	// setSpread is the prior standard deviation of what the pairs in a larger set do not explain.
	setSpread = 0.1
	// crowding is the prior standard deviation of the exponent of the number of other jobs: 0 means that the excesses of
	// pairs add up.
	crowding = 0.2
	// pseudo is the number of observations that the prior variances count for.
	pseudo = 4
	// rounds is the number of rounds of coordinate descent, outlier the residual, in standard deviations, beyond which an
	// entry has only a linear influence (Huber).
	rounds, outlier = 30, 2
	// maxStep bounds the change of a term in a round, because rows are linear only nearby, maxTerm the variance of a kind of
	// term.
	maxStep, maxTerm = 0.5, 1
)

// effect is a normally distributed term.
type effect struct{ mean, variance float64 }

// kindEffects are the terms of one kind of job.
type kindEffects struct {
	activity              float64
	sensitivity, pressure effect
	// inSets is set if the kind was measured next to several others.
	inSets bool
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
	// measured has the distributions of measured pairs, with the usual activities of their kinds.
	measured map[[2]Kind]normal
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
		pair:        pairPart * variance,
		set:         square(setSpread),
		pairScale:   1,
		setScale:    1,
	}
	if len(entries) == 0 {
		return f
	}
	for _, e := range entries {
		f.entries[setKey(e.own, e.others)] = e
		f.addKind(e.own, activities)
		for _, k := range e.others {
			f.addKind(k, activities)
		}
		f.kinds[e.own].inSets = f.kinds[e.own].inSets || len(e.others) > 1
	}
	d := newDescent(f, entries)
	for range rounds {
		d.round()
	}
	f.measure(entries)
	return f
}

func (f *fit) addKind(k Kind, activities map[Kind]activity) {
	if f.kinds[k] != nil {
		return
	}
	f.kinds[k] = &kindEffects{
		activity:    1,
		sensitivity: effect{variance: f.sensitivity},
		pressure:    effect{variance: f.pressure},
	}
	if a := activities[k]; a.weight > 0 {
		f.kinds[k].activity = a.mean
	}
}

// measure computes the distributions of measured pairs.
func (f *fit) measure(entries []entry) {
	f.measured = make(map[[2]Kind]normal, len(entries))
	for _, e := range entries {
		if len(e.others) == 1 {
			p := f.unseen(f.kind(e.own), f.kind(e.others[0]))
			f.measured[[2]Kind{e.own, e.others[0]}] = p.given(e)
		}
	}
}

// kind returns the effects of a kind; those of an unknown one have their prior distributions.
func (f *fit) kind(k Kind) kindEffects {
	if known := f.kinds[k]; known != nil {
		return *known
	}
	return kindEffects{activity: 1, sensitivity: effect{variance: f.sensitivity}, pressure: effect{variance: f.pressure}}
}

// predict returns the distribution of the logarithm of a job's excess. There is at least one other job. Placement calls
// it for every GPU, so it allocates nothing for usual sets.
func (f *fit) predict(own Member, others []Member) normal {
	i := f.kind(own.Kind)
	shift := shifted(own, i)
	var room [MaxSet]normal
	pairs := room[:0]
	for _, other := range others {
		k := f.kind(other.Kind)
		p, measured := f.measured[[2]Kind{own.Kind, other.Kind}]
		if !measured {
			p = f.unseen(i, k)
		}
		p.mean += shift + shifted(other, k)
		pairs = append(pairs, p)
	}
	if len(others) == 1 {
		return pairs[0]
	}
	p := f.together(pairs)
	if i.inSets {
		if e, measured := f.entries[setKey(own.Kind, kindsOf(others))]; measured {
			return p.given(e.scaled(math.Exp(shift)))
		}
	}
	return p
}

// shifted returns by how much the logarithm of the excess is larger than with the usual activity of a kind.
func shifted(m Member, k kindEffects) float64 {
	if m.Activity <= 0 {
		return 0
	}
	return math.Log(max(minActivity, m.active(k.activity)) / k.activity)
}

// kindsOf returns the sorted kinds of members.
func kindsOf(members []Member) []Kind {
	kinds := make([]Kind, len(members))
	for n, m := range members {
		kinds[n] = m.Kind
	}
	slices.Sort(kinds)
	return kinds
}

// unseen returns the distribution for a pair that was not measured, with the usual activities of its kinds.
func (f *fit) unseen(i, k kindEffects) normal {
	scale, common := square(f.pairScale), f.contention.variance+i.sensitivity.variance
	return normal{
		mean:     f.base + f.contention.mean + math.Log(i.activity*k.activity) + i.sensitivity.mean + k.pressure.mean,
		variance: scale * (common + k.pressure.variance + f.pair),
		common:   scale * common,
	}
}

// together adds up the excesses of the pairs of a job. It sorts them, so the sum is the same in any order.
func (f *fit) together(pairs []normal) normal {
	slices.SortFunc(pairs, func(a, b normal) int { return cmp.Or(cmp.Compare(a.mean, b.mean), cmp.Compare(a.variance, b.variance)) })
	largest := pairs[len(pairs)-1].mean
	var total, common, own float64 // deviations that add up, and variances that do
	for _, p := range pairs {
		part := math.Exp(p.mean - largest)
		total += part
		common += part * math.Sqrt(p.common)
		own += square(part) * (p.variance - p.common)
	}
	crowd := math.Log(float64(len(pairs)))
	variance := (square(common) + own) / square(total)
	return normal{
		mean:     largest + math.Log(total) + crowd*f.crowding.mean,
		variance: square(f.setScale) * (variance + f.set + square(crowd)*f.crowding.variance),
	}
}
