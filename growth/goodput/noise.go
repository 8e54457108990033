package goodput

import "math"

const (
	// decay is the weight of a comparison relative to the next one: about the last fifty count.
	decay = 0.98
	// minComparisons is the number of comparisons from which the noise scale is known.
	minComparisons = 8
	// outlier bounds a comparison relative to the mean before it.
	outlier = 10
	// maxNorm bounds squared norms. Their squares are finite.
	maxNorm = 1e100
	// maxScale is the largest noise scale, in samples.
	maxScale = 1e12
)

// Comparison has the squared norms of gradients over batches of Small and of Large samples, each a mean over Count batches.
type Comparison struct {
	Count        int64
	Small        float64
	SmallSquared float64
	Large        float64
	LargeSquared float64
}

func (c Comparison) valid() bool {
	return c.Count > 0 && c.Small > 0 && c.Large > c.Small && c.Large < maxScale &&
		c.SmallSquared > 0 && c.SmallSquared < maxNorm && c.LargeSquared >= 0 && c.LargeSquared < maxNorm
}

// signal is an unbiased estimate of |G|². It may be negative.
func (c Comparison) signal() float64 {
	return (c.Large*c.LargeSquared - c.Small*c.SmallSquared) / (c.Large - c.Small)
}

// variance is an unbiased estimate of tr(Σ). It may be negative.
func (c Comparison) variance() float64 {
	return (c.SmallSquared - c.LargeSquared) / (1/c.Small - 1/c.Large)
}

// Noise is the smoothed result of comparisons. The zero value has none.
type Noise struct {
	// Comparisons counts them, and Weight is the sum of their weights.
	Comparisons int64   `json:"comparisons"`
	Weight      float64 `json:"weight"`
	// Signal is the weighted mean of |G|², Squares that of its square, and Variance that of tr(Σ).
	Signal   float64 `json:"signal"`
	Squares  float64 `json:"squares"`
	Variance float64 `json:"variance"`
}

// Add adds a comparison. It ignores an invalid one, and bounds the influence of an outlier.
func (n Noise) Add(c Comparison) Noise {
	if !c.valid() || !n.valid() {
		return n
	}
	signal, variance := c.signal(), c.variance()
	if n.Comparisons >= minComparisons {
		signal = clamp(signal, outlier*math.Sqrt(n.Squares))
		variance = clamp(variance, outlier*max(n.Variance, c.Small*math.Sqrt(n.Squares)))
	}
	weight := min(float64(c.Count), minComparisons)
	n.Comparisons = min(n.Comparisons+min(c.Count, minComparisons), math.MaxInt32)
	n.Weight = n.Weight*math.Pow(decay, weight) + weight
	part := weight / n.Weight
	n.Signal += part * (signal - n.Signal)
	n.Squares += part * (signal*signal - n.Squares)
	n.Variance += part * (variance - n.Variance)
	return n
}

// valid rejects a state that was read from elsewhere and cannot be continued.
func (n Noise) valid() bool {
	finite := func(x float64) bool { return math.Abs(x) < maxNorm*maxScale }
	return n.Comparisons >= 0 && n.Weight >= 0 && n.Weight <= 1/(1-decay)+minComparisons && finite(n.Signal) &&
		n.Squares >= 0 && n.Squares <= maxNorm*maxNorm && finite(n.Variance)
}

// Scale returns an interval for the noise scale, in samples. It is 0 to ∞ if the scale is unknown.
func (n Noise) Scale() (low, high float64) {
	if n.Comparisons < minComparisons || !n.valid() || n.Weight < 1 {
		return 0, math.Inf(1)
	}
	spread := math.Sqrt(max(0, n.Squares-n.Signal*n.Signal) / n.independent())
	variance := max(0, n.Variance)
	return ratio(variance, n.Signal+spread), ratio(variance, n.Signal-spread)
}

// independent returns the number of comparisons of equal weight whose mean is as certain as the weighted one: the square of the sum of
// the weights over the sum of their squares.
func (n Noise) independent() float64 {
	oldest := max(0, 1-n.Weight*(1-decay)) // the weight of the first comparison
	return (1 - oldest) / (1 + oldest) * (1 + decay) / (1 - decay)
}

// Known reports whether the noise scale is known.
func (n Noise) Known() bool {
	_, high := n.Scale()
	return !math.IsInf(high, 1)
}

// ratio is variance/signal. Noise without any signal has the largest scale.
func ratio(variance, signal float64) float64 {
	switch {
	case variance == 0:
		return 0
	case !(signal > variance/maxScale):
		return maxScale
	}
	return variance / signal
}

func clamp(x, limit float64) float64 { return max(-limit, min(limit, x)) }
