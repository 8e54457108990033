package predict

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// Model predicts times of iterations. It is immutable.
type Model struct {
	typical values
	forest  *forest
	effects effects
	scales  scales
	jobs    int
}

// Prediction is a time with the interval that contains the next observation in 80 % of the cases.
type Prediction struct{ Seconds, Low, High growth.Seconds }

// minJobs is the number of jobs below which nothing is predicted.
const minJobs = 2

// Learn returns a model of samples, in the order of their measurement.
func Learn(samples []Sample) *Model {
	points, typical, jobs := pointsOf(samples)
	m := &Model{typical: typical, jobs: jobs, effects: usual, scales: unscaled()}
	if jobs < minJobs {
		return m
	}
	m.forest = newForest(points, jobs)
	errors := make([][]float64, len(points))
	for n, p := range points {
		predicted := m.forest.unseen(p)
		for _, d := range p.deviations {
			errors[n] = append(errors[n], d-predicted)
		}
	}
	m.effects = learnEffects(points, errors, jobs)
	m.scales = calibrate(points, errors, m.effects, jobs)
	return m
}

// Jobs is the number of jobs that the model has learned from.
func (m *Model) Jobs() int { return m.jobs }

// Predict predicts the time of a job's iterations under an allocation, after some observations of the job, the first ones
// if there are many. It reports false if too little is known.
func (m *Model) Predict(j Job, a Allocation, seen ...Observation) (Prediction, bool) {
	if m.jobs < minJobs {
		return Prediction{}, false
	}
	var all []observed
	index := map[Allocation]int{}
	a = a.canonical()
	cold := m.cold(j, a)
	var colds []float64 // by the index of an allocation
	for _, o := range seen[:min(len(seen), maxTimes)] {
		if !o.valid() {
			continue
		}
		o.Allocation = o.Allocation.canonical()
		at, found := index[o.Allocation]
		if !found {
			at = len(all)
			index[o.Allocation] = at
			all = append(all, observed{here: o.Allocation == a})
			colds = append(colds, cold)
			if o.Allocation != a {
				colds[at] = m.cold(j, o.Allocation)
			}
		}
		all[at].errors = append(all[at].errors, o.logarithm()-colds[at])
	}
	mean, variance := m.effects.correct(all)
	mean += cold
	half := m.scales.of(all) * math.Sqrt(variance)
	return Prediction{Seconds: seconds(mean), Low: seconds(mean - half), High: seconds(mean + half)}, true
}

// cold returns the logarithm of the time without observations.
func (m *Model) cold(j Job, a Allocation) float64 {
	v := valuesOf(j, a).or(m.typical)
	return v.law() + m.forest.predict(v)
}

// seconds returns a time within the bounds.
func seconds(logarithm float64) growth.Seconds {
	return growth.Seconds(min(max(math.Exp(logarithm), shortest), longest))
}
