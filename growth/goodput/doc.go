// Package goodput chooses the batch size of training jobs: the one with the best goodput, the number of samples per second
// weighted by what a sample is worth (Pollux: "Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021).
//
//	goodput(b) = b / step(b) · efficiency(b)
//	step(b)    = F + c·b                          time of a step: fixed, and per sample (Curve)
//	φ          = tr(Σ) / |G|²                     noise scale of the gradient, in samples (Noise)
//	progress   = s·(2 − s·(1+φ/b)/(1+φ/b₀))       of a step, relative to one with the job's own size b₀ (Rule)
//	efficiency = progress·b₀/b                    value of a sample, relative to one in a batch of b₀
//
// # Noise scale
//
// G is the gradient of the loss and Σ the covariance of the gradient of one sample. The gradient g_b over b samples has
// E|g_b|² = |G|² + tr(Σ)/b. Two sizes b < B thus give unbiased estimates (McCandlish et al., "An Empirical Model of
// Large-Batch Training", 2018):
//
//	|G|²  = (B·|g_B|² − b·|g_b|²) / (B − b)
//	tr(Σ) = (|g_b|² − |g_B|²) / (1/b − 1/B)
//
// Their ratio is biased and noisy, so numerator and denominator are smoothed first. Both count relative to |g_b|²: else the rare
// batches with long gradients would decide, and each size would have another noise scale. With batch normalisation small batches can
// have gradients some hundred times as long as the median; and gradients get shorter while a job trains. So φ is that of the typical
// step, which is also what an optimizer that divides by the length of the gradients (Adam) makes of it. Comparisons of several sizes
// count together, those with the less noisy gradients more.
//
// φ is an interval: the estimate of |G|² plus and minus its standard error. The less favourable end counts: the lower one for larger
// sizes, the higher one for smaller sizes. As long as φ is unknown the interval is 0 to ∞, by which no larger size has a better
// goodput.
//
// # Learning rate
//
// s is the factor of the learning rate. The progress of a step with the learning rate s·ε₀ is that of a quadratic loss on which ε₀
// is the best learning rate for b₀. With the best factor for each b, efficiency is Pollux's (φ+b₀)/(φ+b), the upper bound for any
// rule. With an unchanged learning rate a larger batch is not assumed to make more progress per step.
//
// # Search
//
// State.Options are the sizes that a job can change to: within the declared range, at most twice or half the present size or else
// measured before, with the memory that they are predicted to need. At most MaxPoints sizes are measured. The first one
// with F = c·b as the prior gives the next; from then on the step time of a size that was not measured follows from its neighbours.
// A measured step time lies between the measurement and the line F + c·b of all sizes, as far as its deviation from the line is more than chance.
// While few sizes are measured, one that may be better within the error of the prediction is measured too. After the first size that is
// a smaller one which would be better if no part of a step were fixed.
// The search is a local one: it does not cross a range of sizes that are worse.
//
// Together chooses for all jobs of connected GPUs at once: the memory of each GPU is limited, and so is the sum of the step times of
// its jobs, because a turn of the GPU ends between two steps.
package goodput
