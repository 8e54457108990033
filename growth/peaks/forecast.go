package peaks

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/internal/numerics"
)

// Resource selects a value of a Use.
type Resource func(Use) float64

// CPU is the CPU use, in thousandths of a core.
func CPU(u Use) float64 { return float64(u.CPU) }

// Memory is the resident memory, in MiB.
func Memory(u Use) float64 { return float64(u.Memory) }

// GPUMemory is the memory on each GPU, in MiB.
func GPUMemory(u Use) float64 { return float64(u.GPU()) }

// Interval is a prediction. 80 % of such values are between Low and High, and half of them below Likely.
type Interval struct {
	Low    float64 `json:"low"`
	Likely float64 `json:"likely"`
	High   float64 `json:"high"`
}

// The quantiles of an interval. highOnly is the upper end of an interval that begins at the smallest possible value.
const low, middle, high, highOnly = 0.1, 0.5, 0.9, 0.8

// Forecast predicts a job's largest use of a resource in its whole life. remaining is the time to its end; not positive if
// that is unknown, and then the job is expected to go on for as long as it has run. It reports false if nothing is known.
func Forecast(p Profile, of Resource, remaining growth.Seconds, prior Prior) (Interval, bool) {
	own, observed := read(p.Valid(), of, remaining)
	switch {
	case !observed && !prior.known():
		return Interval{}, false
	case !observed:
		return Interval{Low: prior.quantile(low), Likely: prior.quantile(middle), High: prior.quantile(high)}, true
	}
	quantile := own.quantile
	if weight := prior.weight(own); weight > 0 {
		quantile = func(q float64) float64 {
			return max(own.peak, mixed(own.quantile(q), prior.above(own.peak, q), weight))
		}
	}
	i := Interval{Low: quantile(low), Likely: quantile(middle), High: quantile(high)}
	if own.quantile(low) <= own.peak*negligible { // it may have reached its peak, which other runs cannot exclude
		i.Low, i.High = own.peak, quantile(highOnly)
	}
	return i, true
}

// mixed returns the mean of two positive values by their logarithms. In a mean of the values themselves, a prior that is a thousand times
// too large would count for most of it with a weight of a hundredth.
func mixed(own, prior, weight float64) float64 {
	if !(own > 0 && prior > 0) {
		return own
	}
	return own * math.Pow(prior/own, weight)
}

// negligible is the factor by which a peak may exceed another one and count as the same.
const negligible = 1.001

// ahead is the distribution of a job's largest use, by its own observations.
type ahead struct {
	peak float64 // so far
	// blocks are those to come, in numbers of those that were observed.
	blocks float64
	// excess is the mean by which a new maximum exceeds the last one, trend what the use rises to the end of the job.
	// Both are relative to peak.
	excess, trend float64
}

// quantile returns a quantile of the largest use.
func (a ahead) quantile(q float64) float64 {
	doubtful := distuv.LogNormal{Sigma: doubt}.Quantile(q)
	exceeds := a.excess * doubtful * distuv.GumbelRight{Mu: math.Log(a.blocks), Beta: 1}.Quantile(q)
	return a.peak * min(1+max(exceeds, 0)+a.trend*a.trendPart(q), maxRatio)
}

// trendPart is the part of a trend that a quantile has. A trend may end at any time, and the longer the time to come is, the
// earlier it is likely to.
func (a ahead) trendPart(q float64) float64 {
	least := persistence / (1 + a.blocks)
	return least + (steepest-least)*(q-low)/(high-low)
}

const (
	// maxRatio bounds a predicted peak, relative to the observed one.
	maxRatio = 4
	// usualExcess is the excess of a job about which nothing is known, usualWeight the number of blocks that it counts for.
	usualExcess, usualWeight = 0.02, 6
	// maxExcess bounds the influence of one block.
	maxExcess = 0.5
	// maxAhead bounds the time to come, in numbers of the time that was observed.
	maxAhead = 20
	// agreement is the part of the pairs of blocks that must rise for a trend.
	agreement = 0.8
	// persistence is the part of a trend that remains for a short time at least, steepest the part that remains at most.
	persistence, steepest = 0.3, 1.1
	// doubt is the standard deviation of the logarithm of the excess, which is not known exactly.
	doubt = 1.2
)

// gumbel is the standard deviation of the maxima of equal blocks, for an excess of 1.
var gumbel = distuv.GumbelRight{Beta: 1}.StdDev()

func read(p Profile, of Resource, remaining growth.Seconds) (ahead, bool) {
	values := make([]float64, 0, len(p.Blocks))
	for _, b := range p.Blocks {
		if v := of(b); v > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return ahead{}, false
	}
	a := ahead{blocks: 1}
	for _, v := range values {
		a.peak = max(a.peak, v)
	}
	for n := range values {
		values[n] /= a.peak
	}
	blocks := float64(len(values))
	if remaining > 0 {
		a.blocks = min(max(float64(remaining/p.Length)/blocks, 0.01), maxAhead)
	}
	slope := trend(values[len(values)/2:])
	a.trend = slope * a.blocks * blocks
	a.excess = excess(values[len(values)/2:], slope)
	return a, true
}

// trend returns the rise per block: the median slope of all pairs, 0 unless most of them rise.
func trend(values []float64) float64 {
	var slopes []float64
	rising := 0.0
	for i := range values {
		for k := i + 1; k < len(values); k++ {
			slope := (values[k] - values[i]) / float64(k-i)
			slopes = append(slopes, slope)
			if slope > 0 {
				rising++
			}
		}
	}
	if len(slopes) < 3 || rising < agreement*float64(len(slopes)) {
		return 0
	}
	return numerics.Median(slopes)
}

// excess returns the mean by which a new maximum exceeds the last one. It follows from how much the blocks differ, beyond
// the trend.
func excess(values []float64, slope float64) float64 {
	rest := make([]float64, len(values))
	for n, v := range values {
		rest[n] = v - slope*float64(n)
	}
	centre, sum := numerics.Median(rest), 0.0
	for _, r := range rest {
		d := min(math.Abs(r-centre), maxExcess)
		sum += d * d
	}
	n := float64(len(values))
	return (usualWeight*usualExcess + n*math.Sqrt(sum/n)/gumbel) / (usualWeight + n)
}
