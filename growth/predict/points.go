package predict

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

const (
	// maxPoints bounds what is learned, maxTimes the remembered samples of each point. The last samples count.
	maxPoints, maxTimes = 2000, 64
	// outlier is the distance of a point from the median, in standard deviations of a normal distribution with the same
	// quartiles, beyond which it has only a linear influence. leastOutlier is the least such distance: a factor of e.
	outlier, leastOutlier = 5, 1
)

// quartile is the upper quartile of the standard normal distribution.
var quartile = distuv.UnitNormal.Quantile(0.75)

// point is what is known about one job under one allocation.
type point struct {
	job    int
	values values
	features
	// value is the median of the deviations, within bounds.
	value float64
	// deviations are the logarithms of the times minus the law, in the order of the samples.
	deviations []float64
}

// pointsOf groups samples, and counts the jobs. It ignores invalid samples.
func pointsOf(samples []Sample) (points []point, typical values, jobs int) {
	points, jobs = group(samples)
	all := make([]values, len(points))
	for n := range points {
		all[n] = points[n].values
	}
	typical = medians(all)
	medians := make([]float64, len(points))
	for n := range points {
		p := &points[n]
		p.values = p.values.or(typical)
		for i := range p.deviations {
			p.deviations[i] -= p.values.law()
		}
		medians[n] = numerics.Median(slices.Clone(p.deviations))
		p.features, p.value = p.values.features(), medians[n]
	}
	if len(points) > 0 {
		winsorise(points, medians)
	}
	return points, typical, jobs
}

// group collects the samples of each point. The deviations are not yet relative to the law.
func group(samples []Sample) (points []point, jobs int) {
	type key struct {
		job        int
		allocation Allocation
	}
	known := map[Job]int{}
	index := map[key]int{}
	for _, s := range slices.Backward(samples) {
		if !s.valid() {
			continue
		}
		s = s.canonical()
		job, found := known[s.Job]
		if !found {
			job = len(known)
		}
		k := key{job, s.Allocation}
		at, found := index[k]
		if !found {
			if len(points) == maxPoints {
				continue
			}
			at = len(points)
			known[s.Job], index[k] = job, at
			points = append(points, point{job: job, values: valuesOf(s.Job, s.Allocation)})
		}
		if len(points[at].deviations) < maxTimes {
			points[at].deviations = append(points[at].deviations, s.logarithm())
		}
	}
	return points, len(known)
}

// canonical returns the sample with 0 for all unknown values: NaN does not identify a job.
func (s Sample) canonical() Sample {
	for _, v := range []*float64{&s.Job.Batch, &s.Job.FLOPs, &s.Job.Params} {
		*v = positive(*v)
	}
	s.Allocation = s.Allocation.canonical()
	return s
}

func (a Allocation) canonical() Allocation {
	return Allocation{CPU: positive(a.CPU), Memory: positive(a.Memory)}
}

// positive returns 0 for all values that are unknown.
func positive(x float64) float64 {
	if x > 0 && !math.IsInf(x, 1) {
		return x
	}
	return 0
}

// winsorise bounds the values of points that are far from the others.
func winsorise(points []point, values []float64) {
	centre := numerics.Median(values)
	distances := make([]float64, len(values))
	for n, v := range values {
		distances[n] = math.Abs(v - centre)
	}
	bound := max(leastOutlier, outlier*numerics.Median(distances)/quartile)
	for n := range points {
		v := &points[n].value
		*v = min(max(*v, centre-bound), centre+bound)
	}
}
