package prediction

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/predict"
)

// Folds is the number of parts of the configurations.
const Folds = 5

// Case is one predicted row: seconds of an iteration.
type Case struct {
	True, Predicted, Low, High float64
	of                         qoredl.Configuration
}

// Round has the cases of one seed.
type Round struct {
	Cold []Case
	// Observed has the cases after a number of observations.
	Observed  map[int][]Case
	Elsewhere []Case
	// Nearest are the predictions of the oracle, Closest those by the nearest configuration without choice.
	Nearest, Closest []Case
}

// observationCounts are the numbers of observations after which a job is predicted again.
var observationCounts = []int{1, 2, 5}

// elsewhereCount is the number of observations under another allocation.
const elsewhereCount = 2

// Evaluate predicts each row once.
func Evaluate(rows []qoredl.Iteration, seed uint64) (Round, error) {
	points := pointsOf(rows)
	all := configurations(points)
	if len(all) < 2*Folds {
		return Round{}, fmt.Errorf("the file has %d configurations: the evaluation needs %d", len(all), 2*Folds)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	fold := split(all, Folds, random)
	round := Round{Observed: map[int][]Case{}}
	for n := range Folds {
		var learned, left []point
		for _, p := range points {
			if fold[p.configuration] == n {
				left = append(left, p)
			} else {
				learned = append(learned, p)
			}
		}
		m := predict.Learn(samples(learned))
		for _, p := range left {
			round.predict(m, p, others(left, p), random)
			round.Nearest = append(round.Nearest, nearest(learned, p, neighbours)...)
			round.Closest = append(round.Closest, nearest(learned, p, 1)...)
		}
	}
	return round, nil
}

// others returns the points of the same configuration under other allocations.
func others(all []point, p point) []point {
	return slices.DeleteFunc(slices.Clone(all), func(o point) bool {
		return o.configuration != p.configuration || o.allocation == p.allocation
	})
}

func (r *Round) predict(m *predict.Model, p point, others []point, random *rand.Rand) {
	r.Cold = append(r.Cold, p.cases(m, p.times, nil)...)
	for _, k := range observationCounts {
		if len(p.times) > k {
			times := shuffled(p.times, random)
			r.Observed[k] = append(r.Observed[k], p.cases(m, times[k:], p.observations(times[:k]))...)
		}
	}
	if len(others) > 0 {
		other := others[random.IntN(len(others))]
		times := shuffled(other.times, random)
		seen := other.observations(times[:min(elsewhereCount, len(times))])
		r.Elsewhere = append(r.Elsewhere, p.cases(m, p.times, seen)...)
	}
}

func shuffled(times []float64, random *rand.Rand) []float64 {
	times = slices.Clone(times)
	random.Shuffle(len(times), func(i, j int) { times[i], times[j] = times[j], times[i] })
	return times
}

func (p point) observations(times []float64) []predict.Observation {
	all := make([]predict.Observation, len(times))
	for n, t := range times {
		all[n] = predict.Observation{Allocation: p.allocation, Seconds: growth.Seconds(t)}
	}
	return all
}

// cases predicts some times of the point after observations.
func (p point) cases(m *predict.Model, times []float64, seen []predict.Observation) []Case {
	prediction, _ := m.Predict(p.job(), p.allocation, seen...) // there are enough configurations
	cases := make([]Case, len(times))
	for n, t := range times {
		cases[n] = Case{
			True:      t,
			Predicted: float64(prediction.Seconds),
			Low:       float64(prediction.Low),
			High:      float64(prediction.High),
			of:        p.configuration,
		}
	}
	return cases
}
