package interference

import (
	"maps"
	"math"
	"slices"
)

// descent fits the terms of a fit by coordinate descent: each term in turn gets its posterior distribution while the
// others stay.
type descent struct {
	f     *fit
	prior fit // the variances before any measurement
	rows  []row
	kinds []*kindEffects
	// byOwn and byOther have the rows in which a kind is the job, or one of the others.
	byOwn, byOther map[*kindEffects][]*row
}

// row is an entry in the course of a fit.
type row struct {
	entry  *entry
	own    *kindEffects
	others []*kindEffects
	// pairs has the entry of the job and each other job alone, nil if it was not measured. A pair has none.
	pairs []*row
	crowd float64 // logarithm of the number of other jobs

	// Of the current terms: the variance of the measured logarithm of the excess; what fraction of the excess is due to each other job, times what its measured pair leaves
	// open; the residual, its variance, that of the terms in it, and the weight of the row.
	variance float64
	levers   []float64
	residual float64
	spread   float64
	terms    float64
	weight   float64
}

func newDescent(f *fit, entries []entry) *descent {
	d := &descent{
		f:       f,
		prior:   *f,
		rows:    make([]row, len(entries)),
		byOwn:   map[*kindEffects][]*row{},
		byOther: map[*kindEffects][]*row{},
	}
	pairs := map[[2]Kind]*row{}
	for n, e := range entries {
		r := &d.rows[n]
		*r = row{entry: &entries[n], own: f.kinds[e.own], crowd: math.Log(float64(len(e.others)))}
		d.byOwn[r.own] = append(d.byOwn[r.own], r)
		for m, k := range e.others {
			other := f.kinds[k]
			r.others = append(r.others, other)
			if m == 0 || e.others[m-1] != k {
				d.byOther[other] = append(d.byOther[other], r)
			}
		}
		if len(e.others) == 1 {
			pairs[[2]Kind{e.own, e.others[0]}] = r
		}
	}
	for n, e := range entries {
		r := &d.rows[n]
		r.levers = make([]float64, len(e.others))
		r.pairs = make([]*row, len(e.others))
		for m, k := range e.others {
			if len(e.others) > 1 {
				r.pairs[m] = pairs[[2]Kind{e.own, k}]
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(f.kinds)) {
		d.kinds = append(d.kinds, f.kinds[k])
	}
	return d
}

// round updates every term once, and then the variances.
func (d *descent) round() {
	for n := range d.rows {
		if d.rows[n].crowd == 0 {
			d.rows[n].evaluate(d.f)
		}
	}
	for n := range d.rows {
		if d.rows[n].crowd > 0 {
			d.rows[n].evaluate(d.f)
		}
	}
	all := make([]*row, len(d.rows))
	for n := range d.rows {
		all[n] = &d.rows[n]
	}
	update(&d.f.contention, d.prior.contention.variance, all, (*row).lever)
	for _, k := range d.kinds {
		update(&k.sensitivity, d.f.sensitivity, d.byOwn[k], (*row).lever)
		update(&k.pressure, d.f.pressure, d.byOther[k], func(r *row) float64 { return r.leverOf(k) })
	}
	update(&d.f.crowding, d.prior.crowding.variance, all, func(r *row) float64 { return r.crowd })
	d.variances()
}

// evaluate computes the row's state from the terms. The rows of its pairs must have been evaluated.
func (r *row) evaluate(f *fit) {
	values := make([]float64, len(r.others))
	for m, k := range r.others {
		values[m] = f.base + f.contention.mean + math.Log(r.own.activity) + math.Log(k.activity) +
			r.own.sensitivity.mean + k.pressure.mean
		if r.pairs[m] != nil {
			values[m] += r.pairs[m].gain(f.pair) * r.pairs[m].residual
		}
	}
	sum, parts := logSum(values)
	expected := sum + r.crowd*f.crowding.mean
	value, variance := r.entry.logarithm(expected)
	r.residual, r.variance = value-expected, variance
	r.spread = r.variance + f.residual(r)
	for m := range r.others {
		open := 1.0
		if r.pairs[m] != nil {
			open -= r.pairs[m].gain(f.pair)
		}
		r.levers[m] = parts[m] * open
		if r.crowd > 0 {
			r.spread += square(parts[m]) * open * f.pair
		}
	}
	r.terms = square(r.lever())*(f.contention.variance+r.own.sensitivity.variance) + square(r.crowd)*f.crowding.variance
	for m, k := range r.others {
		r.terms += square(r.levers[m]) * k.pressure.variance
	}
	r.spread += r.terms
	r.weight = min(1, outlier*math.Sqrt(r.spread)/math.Abs(r.residual))
}

// gain is the fraction of a pair's residual that is not noise.
func (r *row) gain(pair float64) float64 { return pair / (pair + r.variance) }

// residual returns the variance of what no term explains.
func (f *fit) residual(r *row) float64 {
	if r.crowd > 0 {
		return f.set
	}
	return f.pair
}

// lever is the derivative of the row's value by the sensitivity of its job.
func (r *row) lever() (sum float64) {
	for _, lever := range r.levers {
		sum += lever
	}
	return sum
}

// leverOf is the derivative of the row's value by the pressure of a kind.
func (r *row) leverOf(k *kindEffects) (sum float64) {
	for m, other := range r.others {
		if other == k {
			sum += r.levers[m]
		}
	}
	return sum
}

// update sets a term to its posterior distribution by the rows in which it occurs.
func update(term *effect, variance float64, rows []*row, lever func(*row) float64) {
	precision, weighted := 1/variance, 0.0
	for _, r := range rows {
		l := lever(r)
		w := r.weight * l / max(r.spread-square(l)*term.variance, r.spread-r.terms)
		precision += w * l
		weighted += w * (r.residual + l*term.mean)
	}
	mean := term.mean + clip(weighted/precision-term.mean, maxStep)
	for _, r := range rows {
		r.residual -= lever(r) * (mean - term.mean)
	}
	*term = effect{mean: mean, variance: 1 / precision}
}

// variances re-estimates the variances of the terms, each as the mean of its prior and of the terms' squares.
func (d *descent) variances() {
	sensitivity, pressure := pseudo*d.prior.sensitivity, pseudo*d.prior.pressure
	for _, k := range d.kinds {
		sensitivity += square(k.sensitivity.mean) + k.sensitivity.variance
		pressure += square(k.pressure.mean) + k.pressure.variance
	}
	d.f.sensitivity = min(maxTerm, sensitivity/(pseudo+float64(len(d.kinds))))
	d.f.pressure = min(maxTerm, pressure/(pseudo+float64(len(d.kinds))))
	pair, pairs, set, sets := pseudo*d.prior.pair, float64(pseudo), pseudo*d.prior.set, float64(pseudo)
	for n := range d.rows {
		r := &d.rows[n]
		if r.crowd > 0 {
			set += r.weight * r.unexplained(d.f.set)
			sets += r.weight
			continue
		}
		pair += r.weight * r.unexplained(d.f.pair)
		pairs += r.weight
	}
	d.f.pair = min(maxTerm, pair/pairs)
	d.f.set = min(maxTerm, set/sets)
}

// unexplained is the expected square of the row's residual without noise, whose variance has been taken as variance.
func (r *row) unexplained(variance float64) float64 {
	gain := variance / (variance + r.variance)
	return square(gain)*(square(r.residual)+r.terms) + variance*(1-gain)
}

// logSum returns the logarithm of a sum, given the logarithms of its parts, and the fraction of each in it. There is at
// least one.
func logSum(logarithms []float64) (sum float64, fractions []float64) {
	largest := slices.Max(logarithms)
	fractions = make([]float64, len(logarithms))
	var total float64
	for n, l := range logarithms {
		fractions[n] = math.Exp(l - largest)
		total += fractions[n]
	}
	for n := range fractions {
		fractions[n] /= total
	}
	return largest + math.Log(total), fractions
}
