package predict

import (
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

// effects are the variances of the parts of a prediction's error, in logarithms.
type effects struct{ job, allocation, noise float64 }

// usual are the effects before anything was learned: a factor of 1.6 between jobs, 15 % between allocations, 5 % between
// observations.
var usual = effects{job: 0.25, allocation: 0.02, noise: 0.0025}

const (
	// pseudo is the number of values that the usual effects count for.
	pseudo = 4
	// maxDeviation bounds the influence of one value on the variances: a factor of 20.
	maxDeviation = 3
	// surprise is the distance, in standard deviations, by which one observation can move a prediction.
	surprise = 4
)

// variance accumulates an estimate of a variance.
type variance struct{ sum, count float64 }

func (v *variance) add(deviation, count float64) {
	deviation = min(math.Abs(deviation), maxDeviation)
	v.sum += count * deviation * deviation
	v.count += count
}

func (v variance) or(usual float64) float64 {
	return (pseudo*usual + v.sum) / (pseudo + v.count)
}

// learnEffects estimates the effects from the errors of the predictions of each point, whose job was not seen.
func learnEffects(points []point, errors [][]float64, jobs int) effects {
	sums, counts := make([]float64, jobs), make([]float64, jobs)
	centres := make([]float64, len(points))
	for n, p := range points {
		centres[n] = numerics.Median(slices.Clone(errors[n]))
		sums[p.job] += centres[n]
		counts[p.job]++
	}
	var job, allocation, noise variance
	for j := range sums {
		job.add(sums[j]/counts[j], 1)
	}
	for n, p := range points {
		if c := counts[p.job]; c > 1 {
			allocation.add(centres[n]-sums[p.job]/c, (c-1)/c)
		}
		count := float64(len(errors[n]))
		for _, x := range errors[n] {
			noise.add(x-centres[n], (count-1)/count)
		}
	}
	return effects{
		job:        job.or(usual.job),
		allocation: allocation.or(usual.allocation),
		noise:      noise.or(usual.noise),
	}
}

// observed are the errors of the prediction for one allocation.
type observed struct {
	here   bool // this allocation is predicted
	errors []float64
}

// correct returns the distribution of the error of the next observation, after those of a job. It is exact for normal
// distributions, but uses medians.
func (e effects) correct(all []observed) (mean, variance float64) {
	precision, weighted := 1/e.job, 0.0
	for _, o := range all {
		w := 1 / (e.allocation + e.of(o))
		precision += w
		weighted += w * e.centre(o)
	}
	job := weighted / precision
	for _, o := range all {
		if o.here {
			gain := e.allocation / (e.allocation + e.of(o))
			return job + gain*(e.centre(o)-job), (1-gain)*(1-gain)/precision + (1-gain)*e.allocation + e.noise
		}
	}
	return job, 1/precision + e.allocation + e.noise
}

// of is the variance of the mean of observations.
func (e effects) of(o observed) float64 { return e.noise / float64(len(o.errors)) }

// centre is the median of the errors, within a bound that grows with the number of observations.
func (e effects) centre(o observed) float64 {
	bound := surprise * float64(len(o.errors)) * math.Sqrt(e.job+e.allocation+e.noise)
	return min(max(numerics.Median(o.errors), -bound), bound)
}
