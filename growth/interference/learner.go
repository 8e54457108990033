package interference

import (
	"cmp"
	"maps"
	"slices"
)

// MaxPairs bounds what a Learner remembers: pairs of a job and the other jobs of its set, by their kinds.
const MaxPairs = 4096

// MaxKinds bounds the number of kinds in them.
const MaxKinds = 2048

// fitAfter is the number of observations after which the first fit is due, so that Observe knows what to expect. The next
// is due when there are twice as many, and so on.
const fitAfter = 8

// Learner learns a Model from measurements. It is not safe for concurrent use.
type Learner struct {
	prior      Model
	entries    map[string]*entry
	activities map[Kind]activity
	// count is the number of observations so far.
	count int64
	// model is the last fit, of the first fitted observations; stale is set if there are later ones.
	model  Model
	fitted int64
	stale  bool
}

// activity is the mean activity of a kind's jobs.
type activity struct{ mean, weight float64 }

// NewLearner returns a Learner without measurements.
func NewLearner(prior Model) *Learner {
	return &Learner{prior: prior, model: prior, entries: map[string]*entry{}, activities: map[Kind]activity{}}
}

// Observe learns from a measurement. Jobs of unknown kind teach nothing. It returns an error for an invalid measurement
// and ignores it.
func (l *Learner) Observe(m Measurement) error {
	if err := m.Validate(); err != nil {
		return err
	}
	for i, own := range m.Set {
		others := slices.Delete(slices.Clone(m.Set), i, i+1)
		if own.Kind == "" || slices.ContainsFunc(others, func(o Member) bool { return o.Kind == "" }) {
			continue
		}
		l.observe(own, others, observed(own, float64(m.Seconds)))
	}
	l.drop()
	l.stale = true
	if l.count > 2*l.fitted+fitAfter {
		l.Model()
	}
	return nil
}

func (l *Learner) observe(own Member, others []Member, o observation) {
	l.count++
	kinds := kindsOf(others)
	key := setKey(own.Kind, kinds)
	e := l.entries[key]
	if e == nil {
		e = &entry{own: own.Kind, others: kinds}
		l.entries[key] = e
	}
	e.add(o, l.expected(own, others))
	e.last = l.count
	l.activities[own.Kind] = l.activities[own.Kind].add(own, o.weight)
}

// expected is the distribution of the excess by the last fit.
func (l *Learner) expected(own Member, others []Member) normal {
	if l.model.learned == nil {
		l.model.learned = newFit(l.prior, nil, nil)
	}
	return l.model.learned.predict(own, others)
}

func (a activity) add(m Member, weight float64) activity {
	if m.Activity <= 0 {
		return a
	}
	a.weight = min(a.weight+weight, maxWeight)
	a.mean += weight / a.weight * (max(minActivity, m.active(1)) - a.mean)
	return a
}

// drop removes the least valuable entries, and kinds without an entry, if there are too many of either. It makes some
// room, so that it is not needed for each new entry.
func (l *Learner) drop() {
	if len(l.entries) <= MaxPairs && len(l.activities) <= MaxKinds {
		return
	}
	byValue := slices.SortedFunc(maps.Keys(l.entries), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.entries[b].value(l.count), l.entries[a].value(l.count)), cmp.Compare(a, b))
	})
	kinds := map[Kind]bool{}
	for n, key := range byValue {
		e := l.entries[key]
		if n >= MaxPairs-MaxPairs/16 || len(kinds) > MaxKinds-MaxKinds/16-MaxSet {
			delete(l.entries, key)
			continue
		}
		kinds[e.own] = true
		for _, other := range e.others {
			kinds[other] = true
		}
	}
	maps.DeleteFunc(l.activities, func(k Kind, _ activity) bool { return !kinds[k] })
}

// Model returns a model of all measurements so far. Equal measurements give equal models.
func (l *Learner) Model() Model {
	if l.stale || l.model.learned == nil {
		l.model = l.prior
		l.model.learned = calibrated(l.prior, l.sortedEntries(), l.activities)
		l.fitted = l.count
		l.stale = false
	}
	if len(l.entries) == 0 {
		return l.prior
	}
	return l.model
}

func (l *Learner) sortedEntries() []entry {
	entries := make([]entry, 0, len(l.entries))
	for _, key := range slices.Sorted(maps.Keys(l.entries)) {
		entries = append(entries, *l.entries[key])
	}
	return entries
}
