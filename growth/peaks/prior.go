package peaks

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

// Prior is a log-normal distribution of a job's largest use, from other jobs. The zero value means that nothing is known.
type Prior struct {
	// Mean is the mean of the logarithm, Deviation its standard deviation.
	Mean, Deviation float64
}

const (
	// usualSpread is the deviation between runs of a program before it is known, spreadWeight the number of runs that it
	// counts for.
	usualSpread, spreadWeight = 0.1, 2
	// contradicted is the probability of a smaller peak from which on a prior is taken to be wrong.
	contradicted = 0.98
)

// FromRuns returns the prior of a program whose earlier runs had these peaks. Peaks that are not positive are ignored.
func FromRuns(peaks []float64) Prior {
	var logs []float64
	for _, p := range peaks {
		if p > 0 && !math.IsInf(p, 1) {
			logs = append(logs, math.Log(p))
		}
	}
	if len(logs) == 0 {
		return Prior{}
	}
	centre := numerics.Median(logs) // a single false run does not move it far
	sum := 0.0
	for _, x := range logs {
		sum += min((x-centre)*(x-centre), 1)
	}
	runs := float64(len(logs))
	variance := (spreadWeight*usualSpread*usualSpread + sum) / (spreadWeight + runs - 1)
	return Prior{Mean: centre, Deviation: math.Sqrt(variance * (1 + 1/runs))}
}

// FromInterval returns the prior of a predicted interval of 80 %.
func FromInterval(i Interval) Prior {
	if !(i.Low > 0 && i.Likely >= i.Low && i.High >= i.Likely) || math.IsInf(i.High, 1) {
		return Prior{}
	}
	half := math.Log(i.High/i.Low) / 2
	return Prior{Mean: math.Log(i.Likely), Deviation: max(half/distuv.UnitNormal.Quantile(high), 0.01)}
}

// after returns the distribution of the next value of a job, after some that it has had. The prior is that of its first value; several
// values that agree count for more than a prior that contradicts them.
func (p Prior) after(values []float64) Prior {
	if len(values) == 0 {
		return p
	}
	own := FromRuns(values)
	if !own.known() {
		return p
	}
	count := float64(len(values))
	noise := own.Deviation * own.Deviation / (1 + 1/count) // of one value
	precision, weighted := count/noise, own.Mean*count/noise
	if p.known() {
		precision += 1 / (p.Deviation * p.Deviation)
		weighted += p.Mean / (p.Deviation * p.Deviation)
	}
	return Prior{Mean: weighted / precision, Deviation: math.Sqrt(1/precision + noise)}
}

// maxLogarithm and maxDeviation bound a prior, so that all of its quantiles are finite.
const maxLogarithm, maxDeviation = 100, 10

func (p Prior) known() bool {
	return p.Deviation > 0 && p.Deviation <= maxDeviation && math.Abs(p.Mean) <= maxLogarithm
}

func (p Prior) distribution() distuv.LogNormal {
	return distuv.LogNormal{Mu: p.Mean, Sigma: p.Deviation}
}

func (p Prior) quantile(q float64) float64 { return p.distribution().Quantile(q) }

// below is the probability of a smaller peak.
func (p Prior) below(x float64) float64 { return p.distribution().CDF(x) }

// above returns a quantile of the peaks that are not below one.
func (p Prior) above(peak, q float64) float64 {
	below := min(p.below(peak), contradicted)
	return max(peak, p.quantile(below+q*(1-below)))
}

// weight returns how much the prior counts, relative to the job's own observations.
func (p Prior) weight(own ahead) float64 {
	if !p.known() || p.below(own.peak) >= contradicted {
		return 0
	}
	spread := func(quantile func(float64) float64) float64 {
		width := math.Log(quantile(high) / quantile(low))
		return width*width + 1e-6
	}
	mine := spread(own.quantile)
	return mine / (mine + spread(func(q float64) float64 { return p.above(own.peak, q) }))
}
