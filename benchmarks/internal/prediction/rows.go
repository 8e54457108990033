package prediction

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/qoredl"
	"github.com/trellis-gpu/trellis/growth/predict"
)

// point has the rows of a configuration under one allocation.
type point struct {
	configuration qoredl.Configuration
	allocation    predict.Allocation
	times         []float64
}

func (p point) job() predict.Job {
	c := p.configuration
	return predict.Job{Batch: float64(c.Batch), FLOPs: c.FLOPs, Params: c.Params}
}

// pointsOf groups rows, in the order of their first occurrence.
func pointsOf(rows []qoredl.Iteration) []point {
	type key struct {
		configuration qoredl.Configuration
		allocation    qoredl.Allocation
	}
	index := map[key]int{}
	var points []point
	for _, r := range rows {
		k := key{r.Configuration, r.Allocation}
		at, found := index[k]
		if !found {
			at = len(points)
			index[k] = at
			points = append(points, point{
				configuration: r.Configuration,
				allocation:    predict.Allocation{CPU: r.Allocation.CPU, Memory: r.Allocation.Memory},
			})
		}
		points[at].times = append(points[at].times, float64(r.Each()))
	}
	return points
}

// configurations returns all configurations in order of parameters, operations and batch size: the split does not depend
// on the order of the file.
func configurations(points []point) []qoredl.Configuration {
	var all []qoredl.Configuration
	for _, p := range points {
		all = append(all, p.configuration)
	}
	slices.SortFunc(all, func(a, b qoredl.Configuration) int {
		return cmp.Or(cmp.Compare(a.Params, b.Params), cmp.Compare(a.FLOPs, b.FLOPs), cmp.Compare(a.Batch, b.Batch))
	})
	return slices.Compact(all)
}

// split assigns configurations to folds of equal size.
func split(all []qoredl.Configuration, folds int, random *rand.Rand) map[qoredl.Configuration]int {
	fold := map[qoredl.Configuration]int{}
	for n, i := range random.Perm(len(all)) {
		fold[all[i]] = n % folds
	}
	return fold
}

// samples returns what a model learns from points.
func samples(points []point) []predict.Sample {
	var all []predict.Sample
	for _, p := range points {
		for _, o := range p.observations(p.times) {
			all = append(all, predict.Sample{Job: p.job(), Observation: o})
		}
	}
	return all
}
