package interference

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// State is what a Learner remembers, for storage.
type State struct {
	// Observations is the number of observations so far.
	Observations int64       `json:"observations"`
	Kinds        []KindState `json:"kinds"`
	Pairs        []PairState `json:"pairs"`
}

// KindState is the mean activity of a kind's jobs, and the number of observations that it is based on.
type KindState struct {
	Kind     Kind    `json:"kind"`
	Activity float64 `json:"activity,omitempty"`
	Weight   float64 `json:"weight,omitempty"`
}

// PairState is what is known about a job's excess next to others. Own and Others are indices of Kinds.
type PairState struct {
	Own      int     `json:"own"`
	Others   []int   `json:"others"`
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"`
	Weight   float64 `json:"weight"`
	Last     int64   `json:"last"`
}

// State returns what the Learner remembers, in an order that depends on nothing else.
func (l *Learner) State() State {
	s := State{Observations: l.count, Kinds: []KindState{}, Pairs: []PairState{}}
	index := map[Kind]int{}
	for _, k := range slices.Sorted(maps.Keys(l.activities)) {
		index[k] = len(s.Kinds)
		s.Kinds = append(s.Kinds, KindState{Kind: k, Activity: rounded(l.activities[k].mean), Weight: rounded(l.activities[k].weight)})
	}
	for _, e := range l.sortedEntries() {
		p := PairState{
			Own:      index[e.own],
			Mean:     rounded(e.mean),
			Variance: rounded(e.variance),
			Weight:   rounded(e.weight),
			Last:     e.last,
		}
		for _, other := range e.others {
			p.Others = append(p.Others, index[other])
		}
		s.Pairs = append(s.Pairs, p)
	}
	return s
}

// rounded keeps records short.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// Restore returns a Learner that continues from a state. It returns an error for a state that no Learner returns.
func Restore(prior Model, s State) (*Learner, error) {
	if len(s.Kinds) > MaxKinds || len(s.Pairs) > MaxPairs {
		return nil, fmt.Errorf("%d kinds and %d pairs: at most %d and %d are valid", len(s.Kinds), len(s.Pairs), MaxKinds, MaxPairs)
	}
	if s.Observations < 0 {
		return nil, fmt.Errorf("%d observations", s.Observations)
	}
	l := NewLearner(prior)
	l.count = s.Observations
	for _, k := range s.Kinds {
		if _, twice := l.activities[k.Kind]; twice || k.Kind == "" || !k.Kind.Valid() {
			return nil, fmt.Errorf("kind %.40q: give each kind once, as %d hexadecimal digits", string(k.Kind), kindDigits)
		}
		if !within(k.Activity, 0, 1) || !within(k.Weight, 0, maxWeight) || k.Weight > 0 && k.Activity < minActivity {
			return nil, fmt.Errorf("kind %s: activity %g of %g observations", k.Kind, k.Activity, k.Weight)
		}
		l.activities[k.Kind] = activity{mean: k.Activity, weight: k.Weight}
	}
	for i, p := range s.Pairs {
		e, err := p.entry(s)
		if err != nil {
			return nil, fmt.Errorf("pair %d: %w", i, err)
		}
		key := setKey(e.own, e.others)
		if l.entries[key] != nil {
			return nil, fmt.Errorf("pair %d occurs twice", i)
		}
		l.entries[key] = e
	}
	l.stale = true
	return l, nil
}

func (p PairState) entry(s State) (*entry, error) {
	if len(p.Others) < MinSet-1 || len(p.Others) > MaxSet-1 {
		return nil, fmt.Errorf("%d other jobs", len(p.Others))
	}
	for _, k := range append([]int{p.Own}, p.Others...) {
		if k < 0 || k >= len(s.Kinds) {
			return nil, fmt.Errorf("kind number %d of %d", k, len(s.Kinds))
		}
	}
	e := &entry{own: s.Kinds[p.Own].Kind, mean: p.Mean, variance: p.Variance, weight: p.Weight, last: p.Last}
	for _, k := range p.Others {
		e.others = append(e.others, s.Kinds[k].Kind)
	}
	slices.Sort(e.others)
	switch {
	case !within(p.Mean, -1, maxExcess):
		return nil, fmt.Errorf("mean %g is out of range", p.Mean)
	case !within(p.Variance, 0, maxVariance) || p.Variance == 0:
		return nil, fmt.Errorf("variance %g is out of range", p.Variance)
	case !within(p.Weight, 0, maxWeight) || p.Weight == 0:
		return nil, fmt.Errorf("weight %g is out of range", p.Weight)
	case p.Last < 0 || p.Last > s.Observations:
		return nil, errors.New("its last observation is later than the last of all")
	}
	return e, nil
}

// within reports whether x is a number from low to high.
func within(x, low, high float64) bool { return x >= low && x <= high }
