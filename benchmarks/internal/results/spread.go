package results

import (
	"math"
	"slices"
)

// spread holds one figure of each round, in ascending order.
type spread []float64

// over computes a figure of each round.
func over[T any](rounds []T, figure func(T) float64) spread {
	values := pick(rounds, figure)
	slices.Sort(values)
	return values
}

// once returns a figure with a single value.
func once(value float64) spread { return spread{value} }

func pick[T, U any](from []T, what func(T) U) []U {
	var picked []U
	for _, t := range from {
		picked = append(picked, what(t))
	}
	return picked
}

// median returns the middle value, or the mean of the two middle values.
func (s spread) median() float64 {
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func (s spread) goal(name, unit string) Goal {
	return Goal{Name: name, Value: rounded(s.median()), Low: rounded(s[0]), High: rounded(s[len(s)-1]), Unit: unit, exact: s.median()}
}

// atLeast sets a target that the worst round must reach.
func (g Goal) atLeast(target float64) Goal {
	met := g.Low >= target
	g.Target, g.Met = &target, &met
	return g
}

// atMost sets a target that the median must not exceed. Single rounds of a comparison differ by chance.
func (g Goal) atMost(target float64) Goal {
	met := g.exact <= target
	g.Target, g.Met = &target, &met
	return g
}

func rounded(x float64) float64 { return math.Round(x*100) / 100 }
