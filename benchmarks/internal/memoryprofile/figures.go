package memoryprofile

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// The targets: of the intervals, and of the memory at twice the size, of which a tenth must be left (growth/goodput).
const (
	minCover, maxCover = 75, 85
	headroom           = 10
)

// Goals returns the figures. Their ranges are over the kinds of jobs.
func (r Result) Goals() []results.Goal {
	var goals []results.Goal
	add := func(name string, cases []Case, judged bool) {
		if len(cases) == 0 {
			return
		}
		coverage := overKinds(name+": in 80 % interval", cases, covered)
		if judged {
			coverage = calibrated(coverage)
		}
		goals = append(goals, coverage, overKinds(name+": mean error", cases, meanError), overKinds(name+": mean width", cases, meanWidth))
	}
	rising := slices.DeleteFunc(slices.Clone(r.Own), func(c Case) bool { return !c.rises() })
	add("own observations", r.Own, true)
	if len(r.Own) > 0 {
		goals = append(goals, overKinds("own observations: peak already reached", r.Own, reached))
	}
	add("own observations, before the peak", rising, false)
	add("own observations and an earlier run", r.OwnWithRun, true)
	add("an earlier run", r.Run, true)
	add("batch size, operations, parameters", r.Described, true)
	return append(goals, twiceGoals(r.Twice)...)
}

// overKinds computes a figure over all cases, and its range over the kinds.
func overKinds(name string, cases []Case, figure func([]Case) float64) results.Goal {
	byKind := map[string][]Case{}
	for _, c := range cases {
		byKind[c.Kind] = append(byKind[c.Kind], c)
	}
	g := results.Measured(name, "%", []float64{round(figure(cases))})
	for _, some := range byKind {
		value := round(figure(some))
		g.Low, g.High = min(g.Low, value), max(g.High, value)
	}
	return g
}

// calibrated sets the target of an interval's coverage.
func calibrated(g results.Goal) results.Goal {
	target, met := 80.0, g.Value >= minCover && g.Value <= maxCover
	g.Target, g.Met = &target, &met
	return g
}

// twiceGoals are the figures of memory at twice the size.
func twiceGoals(cases []Twice) (goals []results.Goal) {
	for _, from := range []struct {
		name string
		of   func(Twice) bool
	}{
		{"twice the batch size, from one size", func(t Twice) bool { return t.Measured == 1 }},
		{"twice the batch size, from several", func(t Twice) bool { return t.Measured > 1 }},
	} {
		var errors, below []float64
		for _, t := range cases {
			if from.of(t) {
				errors, below = append(errors, round(t.Error())), append(below, round(t.Below()))
			}
		}
		if len(errors) > 0 {
			goals = append(goals, results.Measured(from.name+": error", "%", errors),
				results.Measured(from.name+": largest underestimate", "%", []float64{slices.Max(below)}).AtMost(headroom))
		}
	}
	return goals
}

// covered is the part of the peaks in their intervals, in per cent.
func covered(cases []Case) float64 {
	return mean(cases, func(c Case) float64 {
		if c.covers() {
			return 100
		}
		return 0
	})
}

// reached is the part of the cases in which the job had reached its peak, in per cent.
func reached(cases []Case) float64 {
	return mean(cases, func(c Case) float64 {
		if c.rises() {
			return 0
		}
		return 100
	})
}

// meanError is the mean absolute error of the likely peak, in per cent of the true one.
func meanError(cases []Case) float64 {
	return mean(cases, func(c Case) float64 { return 100 * math.Abs(c.Likely/c.True-1) })
}

// meanWidth is the mean width of the intervals, in per cent of the true peak.
func meanWidth(cases []Case) float64 {
	return mean(cases, func(c Case) float64 { return 100 * (c.High - c.Low) / c.True })
}

func mean(cases []Case, of func(Case) float64) (sum float64) {
	for _, c := range cases {
		sum += of(c) / float64(len(cases))
	}
	return sum
}

func round(x float64) float64 { return math.Round(1000*x) / 1000 }
