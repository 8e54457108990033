package fairfinish

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// evenly is the gain in the time to a good metric that balanced asks for, as a part of the gain in the time to the end.
	evenly = 0.85
	// lightest is the least that a good metric may be worth for that, finely the steps from there, and steps how many.
	lightest, finely, steps = 0.38, 0.02, 12
	// steady is how much closer to the proportion another worth must come for the one before to be given up: each change of it
	// changes the order of jobs, too.
	steady = 0.02
)

// times are sums over jobs: how old they are at their end and when their metric is good, in seconds and by their weights.
type times struct{ end, good float64 }

// balance sets what a good metric is worth. An objective that is a number says it. Balanced asks for about as much of the one
// gain as of the other, and what comes to that depends on the jobs: on how soon their metrics are good, and on how many
// wait. So each worth is played out, and the one is taken whose gains over fair sharing are in the proportion asked for, with
// those of the jobs that fair sharing has not done with counted in.
func (t *table) balance() {
	before := t.worth
	t.worth = float64(t.config.Objective)
	fair, past := t.underFair(), t.past()
	if t.config.Objective != Balanced || !(fair.end > 0 && fair.good > 0) {
		return
	}
	off := math.Inf(1)
	for k := range steps {
		worth := lightest + finely*float64(k)
		ours := t.played(worth, past)
		apart := math.Abs((1 - ours.good/fair.good) - evenly*(1-ours.end/fair.end))
		if worth == before {
			apart -= steady
		}
		if apart < off {
			t.worth, off = worth, apart
		}
	}
}

// counts tells whether a job's gains are counted: it has an end under fair sharing that is known and still to come.
func (t *table) counts(job int) bool {
	return !t.late[job] && !math.IsInf(t.left(job), 1) && !math.IsInf(t.finish[job], 1)
}

// open tells whether a job that counts has a need that is known and not met yet.
func (t *table) open(job int) bool { n := t.need(job); return n > 0 && !math.IsInf(n, 1) }

// underFair are the times of fair sharing.
func (t *table) underFair() (sum times) {
	for i, a := range t.accounts {
		if !t.counts(i) {
			continue
		}
		sum.end += a.Weight * (t.age(i) + t.finish[i])
		switch {
		case t.open(i):
			sum.good += a.Weight * (t.age(i) + t.forecast.when(i, a.Real+growth.CoreSeconds(min(t.need(i), t.left(i)))))
		case a.Good > 0:
			sum.good += a.Weight * t.goodUnderFair(i, a)
		}
	}
	for k, a := range t.ghosts {
		i := len(t.accounts) + k
		sum.end += a.Weight * (float64(a.age(t.now)) + t.forecast.when(i, a.Real))
		sum.good += a.Weight * t.goodUnderFair(i, a)
	}
	return sum
}

// goodUnderFair is how old a job that is good is when it is so under fair sharing. Where that is past, it is not known when
// it was: fair sharing is thought to have served it evenly.
func (t *table) goodUnderFair(i int, a Account) float64 {
	age := float64(a.age(t.now))
	if a.Fair > a.GoodWork {
		return age * float64(a.GoodWork/a.Fair)
	}
	return age + t.forecast.when(i, a.GoodWork)
}

// past are the times that are known already.
func (t *table) past() (sum times) {
	for i, a := range t.accounts {
		if t.counts(i) && !t.open(i) {
			sum.good += a.Weight * float64(a.Good)
		}
	}
	for _, a := range t.ghosts {
		sum.end, sum.good = sum.end+a.Weight*float64(a.End), sum.good+a.Weight*float64(a.Good)
	}
	return sum
}

// played adds the times of the jobs that are there if the index alone decides, with no regard to fair sharing.
func (t *table) played(worth float64, sum times) times {
	n := len(t.jobs)
	left, need, rate, weight := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var running []int
	for i := range t.jobs {
		if t.counts(i) {
			weight[i] = t.accounts[i].Weight
		}
		if left[i] = t.left(i); !math.IsInf(left[i], 1) {
			running = append(running, i)
		}
		if t.open(i) {
			need[i] = min(t.need(i), left[i])
		}
	}
	rank := func(i int) float64 { return index(worth, t.accounts[i].Weight, need[i], left[i]) }
	for now := 0.0; len(running) > 0; {
		slices.SortFunc(running, func(i, j int) int { return cmp.Or(cmp.Compare(rank(j), rank(i)), cmp.Compare(i, j)) })
		room, step := t.cores, math.Inf(1)
		for _, i := range running {
			rate[i] = min(room, t.accounts[i].Limit)
			room -= rate[i]
			if next := cmp.Or(need[i], left[i]); rate[i] > 0 {
				step = min(step, next/rate[i])
			}
		}
		if math.IsInf(step, 1) {
			break // nobody can use anything
		}
		now += step
		for _, i := range running {
			done, wait := rate[i]*step, weight[i]*(t.age(i)+now)
			left[i] -= done
			if need[i] > 0 {
				if need[i] -= done; need[i] <= dust {
					need[i] = 0
					sum.good += wait
				}
			}
			if left[i] <= dust {
				sum.end += wait
			}
		}
		running = slices.DeleteFunc(running, func(i int) bool { return left[i] <= dust })
	}
	return sum
}
