package prediction

import (
	"fmt"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

// The targets.
const (
	minExplained       = 0.55
	maxColdError       = 33
	minCover, maxCover = 75, 85
)

var maxObservedError = map[int]float64{1: 15, 2: 10, 5: 7}

// Goals returns the figures of the rounds over the same rows.
func Goals(rows []qoredl.Iteration, rounds []Round) []results.Goal {
	var goals []results.Goal
	of := func(name, unit string, cases func(Round) []Case, figure func([]Case) float64) results.Goal {
		var values []float64
		for _, r := range rounds {
			values = append(values, figure(cases(r)))
		}
		return rounded(name, unit, values)
	}
	cold := func(r Round) []Case { return r.Cold }
	goals = append(goals,
		of("cold: R²", "", cold, explained).AtLeast(minExplained),
		of("cold: mean error", "%", cold, meanError).AtMost(maxColdError),
		calibrated(of("cold: in 80 % interval", "%", cold, covered)))
	for _, k := range observationCounts {
		name := fmt.Sprintf("after %d observations", k)
		if k == 1 {
			name = "after 1 observation"
		}
		observed := func(r Round) []Case { return r.Observed[k] }
		goals = append(goals,
			of(name+": mean error", "%", observed, meanError).AtMost(maxObservedError[k]),
			calibrated(of(name+": in 80 % interval", "%", observed, covered)))
	}
	elsewhere := func(r Round) []Case { return r.Elsewhere }
	nearest := func(r Round) []Case { return r.Nearest }
	closest := func(r Round) []Case { return r.Closest }
	points := pointsOf(rows)
	heavy, part := heaviest(points)
	light := func(r Round) []Case {
		return slices.DeleteFunc(slices.Clone(r.Cold), func(c Case) bool { return c.of == heavy })
	}
	share := results.Measured("the configuration with most of the variance: part of it", "%", []float64{round(100 * part)})
	same := floor(points, func(p point) any { return struct{ a, b any }{p.configuration, p.allocation} })
	configuration := floor(points, func(p point) qoredl.Configuration { return p.configuration })
	return append(goals,
		of("after 2 observations elsewhere: mean error", "%", elsewhere, meanError),
		of("after 2 observations elsewhere: in 80 % interval", "%", elsewhere, covered),
		share,
		of("cold, without the configuration with most of the variance: R²", "", light, explained),
		of("nearest configuration: R²", "", closest, explained),
		of("nearest configuration: mean error", "%", closest, meanError),
		of("best of 5 nearest configurations: R²", "", nearest, explained),
		of("best of 5 nearest configurations: mean error", "%", nearest, meanError),
		of("the configuration's median: mean error", "%", func(Round) []Case { return configuration }, meanError),
		of("noise, the allocation's median: mean error", "%", func(Round) []Case { return same }, meanError))
}

// calibrated sets the target of an interval's coverage.
func calibrated(g results.Goal) results.Goal {
	target, met := 80.0, g.Value >= minCover && g.Value <= maxCover
	g.Target, g.Met = &target, &met
	return g
}

// explained is R² of the times: the part of their variance that the predictions explain.
func explained(cases []Case) float64 {
	var mean, residual, total float64
	for _, c := range cases {
		mean += c.True / float64(len(cases))
	}
	for _, c := range cases {
		residual += (c.True - c.Predicted) * (c.True - c.Predicted)
		total += (c.True - mean) * (c.True - mean)
	}
	return 1 - residual/total
}

// meanError is the mean absolute error, in per cent of the true value.
func meanError(cases []Case) (sum float64) {
	for _, c := range cases {
		sum += 100 * math.Abs(c.Predicted/c.True-1) / float64(len(cases))
	}
	return sum
}

// covered is the part of the true values in their intervals, in per cent.
func covered(cases []Case) float64 {
	n := 0
	for _, c := range cases {
		if c.Low <= c.True && c.True <= c.High {
			n++
		}
	}
	return 100 * float64(n) / float64(len(cases))
}

func rounded(name, unit string, values []float64) results.Goal {
	goal := results.Measured(name, unit, values)
	goal.Value, goal.Low, goal.High = round(goal.Value), round(goal.Low), round(goal.High)
	return goal
}

func round(x float64) float64 { return math.Round(1000*x) / 1000 }
