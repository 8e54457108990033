package goodput

import "math"

const (
	// decay is the weight of a comparison relative to the next one: about the last hundred count.
	decay = 0.99
	// minComparisons is the number of comparisons from which the noise scale is known.
	minComparisons = 8
	// maxScale is the largest noise scale, in samples.
	maxScale = 1e12
)

// Comparison has the squared norms of gradients over batches of Small and of Large samples.
type Comparison struct {
	Small        float64
	SmallSquared float64
	Large        float64
	LargeSquared float64
}

func (c Comparison) valid() bool {
	finite := func(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }
	return c.Small > 0 && c.Large > c.Small && c.Large < maxScale &&
		c.SmallSquared > 0 && finite(c.SmallSquared) && finite(c.LargeSquared)
}

// signal is an estimate of |G|² relative to the squared norm of the gradient over the small batch. The rest of that is noise. It is negative if
// the gradients point in opposite directions.
func (c Comparison) signal() float64 {
	return clampTo((c.Large*(c.LargeSquared/c.SmallSquared)-c.Small)/(c.Large-c.Small), -1, 1)
}

// Noise is the smoothed result of comparisons. The zero value has none. Each comparison counts relative to the length of its gradients.
type Noise struct {
	// Comparisons counts them, and Weight is the sum of their weights.
	Comparisons int64   `json:"comparisons"`
	Weight      float64 `json:"weight"`
	// Signal is the weighted mean of |G|², Squares that of its square, and Variance that of tr(Σ), in samples.
	Signal   float64 `json:"signal"`
	Squares  float64 `json:"squares"`
	Variance float64 `json:"variance"`
}

// Add adds a comparison. It ignores an invalid one.
func (n Noise) Add(c Comparison) Noise {
	if !c.valid() {
		return n
	}
	if !n.valid() { // of an earlier version, or garbage
		n = Noise{}
	}
	n.Comparisons = min(n.Comparisons+1, math.MaxInt32)
	n.Weight = n.Weight*decay + 1
	part, signal := 1/n.Weight, c.signal()
	n.Signal += part * (signal - n.Signal)
	n.Squares += part * (signal*signal - n.Squares)
	n.Variance += part * (c.Small*(1-signal) - n.Variance)
	return n
}

// valid rejects a state that was read from elsewhere and cannot be continued.
func (n Noise) valid() bool {
	return n.Comparisons >= 0 && n.Weight >= 0 && n.Weight <= 1/(1-decay)+1 && n.Signal >= -1 && n.Signal <= 1 &&
		n.Squares >= 0 && n.Squares <= 1 && n.Variance >= 0 && n.Variance <= 2*maxScale
}

// Scale returns an interval for the noise scale, in samples. It is 0 to ∞ if the scale is unknown.
func (n Noise) Scale() (low, high float64) {
	if n.Comparisons < minComparisons || !n.valid() || n.Weight < 1 {
		return 0, math.Inf(1)
	}
	spread := math.Sqrt(max(0, n.Squares-n.Signal*n.Signal) / n.independent())
	return n.scale(n.Signal + spread), n.scale(n.Signal - spread)
}

// Likely returns the most likely noise scale, in samples. It is 0 if the scale is unknown.
func (n Noise) Likely() float64 {
	if !n.Known() {
		return 0
	}
	return n.scale(n.Signal)
}

// scale is the noise scale if the mean signal is another one than the measured one.
func (n Noise) scale(signal float64) float64 {
	switch {
	case n.Variance == 0 || signal >= 1:
		return 0
	case signal <= 0:
		return maxScale
	}
	size := n.Variance / (1 - n.Signal) // the mean number of samples of a small batch
	return min(size*(1-signal)/signal, maxScale)
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
