package prediction

import (
	"cmp"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
)

// neighbours is the number of configurations among which the oracle chooses.
const neighbours = 5

// nearest predicts each time of a point by one of a number of nearest learned configurations under its nearest allocation: the
// one with the best result.
func nearest(learned []point, p point, neighbours int) []Case {
	closest := map[qoredl.Configuration]point{}
	for _, l := range learned {
		known, found := closest[l.configuration]
		if !found || p.distance(l) < p.distance(known) {
			closest[l.configuration] = l
		}
	}
	var candidates []point
	for _, l := range closest {
		candidates = append(candidates, l)
	}
	slices.SortFunc(candidates, func(a, b point) int { return cmp.Compare(p.distance(a), p.distance(b)) })
	cases := make([]Case, len(p.times))
	truth := median(p.times)
	best := slices.MinFunc(candidates[:min(neighbours, len(candidates))], func(a, b point) int {
		return cmp.Compare(math.Abs(math.Log(median(a.times)/truth)), math.Abs(math.Log(median(b.times)/truth)))
	})
	for n, t := range p.times {
		cases[n] = Case{True: t, Predicted: median(best.times)}
	}
	return cases
}

// distance is the sum of the differences of all features, in logarithms.
func (p point) distance(o point) float64 {
	difference := func(a, b float64) float64 { return math.Abs(math.Log(a / b)) }
	a, b := p.job(), o.job()
	return difference(a.Batch, b.Batch) + difference(a.FLOPs, b.FLOPs) + difference(a.Params, b.Params) +
		difference(p.allocation.CPU, o.allocation.CPU) + difference(p.allocation.Memory, o.allocation.Memory)
}

// floor predicts each row by the median of the rows with the same key, which include the row itself.
func floor[K comparable](points []point, key func(point) K) []Case {
	times := map[K][]float64{}
	for _, p := range points {
		times[key(p)] = append(times[key(p)], p.times...)
	}
	var cases []Case
	for _, p := range points {
		predicted := median(times[key(p)])
		for _, t := range p.times {
			cases = append(cases, Case{True: t, Predicted: predicted})
		}
	}
	return cases
}

// heaviest returns the configuration whose times have the largest part of the variance of all times, and that part.
func heaviest(points []point) (heaviest qoredl.Configuration, part float64) {
	mean, n := 0.0, 0.0
	for _, p := range points {
		for _, t := range p.times {
			mean += t
			n++
		}
	}
	mean /= n
	squares, total := map[qoredl.Configuration]float64{}, 0.0
	for _, p := range points {
		for _, t := range p.times {
			squares[p.configuration] += (t - mean) * (t - mean)
			total += (t - mean) * (t - mean)
		}
	}
	for _, p := range points {
		if squares[p.configuration] > squares[heaviest] {
			heaviest = p.configuration
		}
	}
	return heaviest, squares[heaviest] / total
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
