package interference

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth/interference"
)

// Case is one predicted slowdown with its true value.
type Case struct {
	// Jobs is the size of the set.
	Jobs  int     `json:"jobs"`
	True  float64 `json:"true"`
	Mean  float64 `json:"mean"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Prior float64 `json:"prior"`
}

// Error is the relative error of the mean, as a fraction.
func (c Case) Error() float64 { return math.Abs(c.Mean/c.True - 1) }

// PriorError is the relative error without any measurement.
func (c Case) PriorError() float64 { return math.Abs(c.Prior/c.True - 1) }

// Covered reports whether the interval contains the true value.
func (c Case) Covered() bool { return c.Low <= c.True && c.True <= c.High }

// predicted predicts the slowdown of each job of a set, and compares it with the set's speeds.
func predicted(m interference.Model, set interference.Measurement) []Case {
	cases := make([]Case, len(set.Set))
	for i, own := range set.Set {
		others := slices.Delete(slices.Clone(set.Set), i, i+1)
		p, prior := m.Predict(own, others), interference.Prior().Predict(own, others)
		cases[i] = Case{
			Jobs:  len(set.Set),
			True:  max(1, 1/own.Speed),
			Mean:  float64(p.Mean),
			Low:   float64(p.Low),
			High:  float64(p.High),
			Prior: float64(prior.Mean),
		}
	}
	return cases
}

// learned returns a model of measurements. Invalid ones are an error.
func learned(sets []interference.Measurement) (interference.Model, error) {
	l := interference.NewLearner(interference.Prior())
	for _, s := range sets {
		if err := l.Observe(s); err != nil {
			return interference.Model{}, err
		}
	}
	return l.Model(), nil
}

// LeaveOneOut predicts each set of a size from all sets with other kinds of jobs, of which it uses those that use
// accepts.
func LeaveOneOut(sets []interference.Measurement, size int, use func(interference.Measurement) bool) ([]Case, error) {
	var cases []Case
	for _, left := range sets {
		if len(left.Set) != size {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(sets), func(s interference.Measurement) bool { return sameKinds(s, left) || !use(s) })
		m, err := learned(rest)
		if err != nil {
			return nil, err
		}
		cases = append(cases, predicted(m, left)...)
	}
	return cases, nil
}

func sameKinds(a, b interference.Measurement) bool { return slices.Equal(kinds(a), kinds(b)) }

func kinds(m interference.Measurement) []interference.Kind {
	var all []interference.Kind
	for _, member := range m.Set {
		all = append(all, member.Kind)
	}
	slices.Sort(all)
	return all
}

// median returns the median of a value over the cases.
func median(cases []Case, of func(Case) float64) float64 {
	if len(cases) == 0 {
		return math.NaN()
	}
	values := make([]float64, len(cases))
	for i, c := range cases {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// covered returns the fraction of cases whose interval contains the true value.
func covered(cases []Case) float64 {
	n := 0
	for _, c := range cases {
		if c.Covered() {
			n++
		}
	}
	return float64(n) / float64(len(cases))
}

// ofSize returns the cases of sets of a size, the least slowed first.
func ofSize(cases []Case, size int) []Case {
	some := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return c.Jobs != size })
	slices.SortStableFunc(some, func(a, b Case) int { return cmp.Compare(a.True, b.True) })
	return some
}
