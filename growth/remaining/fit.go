package remaining

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// minPoints is the smallest number of points that are fitted.
	minPoints = 6
	// tolerance is the excess squared error of an accepted fit, in units of the noise variance. The χ² distribution
	// gives 1.6 for 80 % coverage. The value is larger because two shapes are fitted and outliers have less weight; the
	// tests measure the actual coverage.
	tolerance = 5
	// targetTolerance multiplies tolerance for the work to target, where an error is expensive: learning rates fall,
	// errors of neighbouring reports correlate, and a curve that is flat for a while may improve again. On recorded
	// losses 5 is as good as 8; 2 and 16 are worse.
	targetTolerance = 8
	// significant is the variance that each parameter of a fit must explain, in units of the noise variance.
	significant = 6
	// scales is the number of values of τ. They span shortestScale to longestScale times the observed steps.
	scales        = 60
	shortestScale = 1.0 / 30
	longestScale  = 10.0
)

// fit is a curve c + a·s(x/τ) with a given shape and scale.
type fit struct {
	powerLaw   bool    // s(u) is 1/(1+u), else exp(−u)
	scale      float64 // τ, in steps
	error      float64 // weighted sum of squared residuals
	amplitude  float64 // a
	final      float64 // c, in the metric's unit
	likelihood float64 // relative to the best fit
}

// missing returns s(steps/τ), the fraction of the improvement that is missing after some steps.
func (f fit) missing(steps float64) float64 {
	if f.powerLaw {
		return 1 / (1 + steps/f.scale)
	}
	return math.Exp(-steps / f.scale)
}

// stepsTo returns the number of steps after which a fraction of the improvement is made. The improvement is the one
// within total steps, or the whole one if total is 0.
func (f fit) stepsTo(fraction, total float64) float64 {
	if total > 0 {
		fraction *= 1 - f.missing(total)
	}
	return f.stepsUntil(1 - fraction)
}

// stepsUntil is the inverse of missing, for a fraction above 0.
func (f fit) stepsUntil(missing float64) float64 {
	if f.powerLaw {
		return f.scale * (1/missing - 1)
	}
	return -f.scale * math.Log(missing)
}

// fit returns all fits whose error exceeds the best fit's by at most tolerance, in units of the noise variance. It
// returns none if the curve is not significantly better than a constant or moves in the wrong direction.
func (c *Curve) fit(direction growth.Direction, tolerance float64) (accepted []fit) {
	n := len(c.Points)
	if n < minPoints {
		return nil
	}
	weights, missing := make([]float64, n), make([]float64, n)
	for i, p := range c.Points {
		weights[i] = float64(p.Reports)
	}
	c.downweight(c.scan(weights, missing)[0], weights)
	fits := c.scan(weights, missing)
	best := fits[0]
	constant := c.regress(fit{scale: math.Inf(1)}, weights, missing) // s = 1 everywhere
	noise := best.error / float64(n-3)
	if best.amplitude*float64(direction) <= 0 || constant.error-best.error <= 3*significant*noise {
		return nil
	}
	for _, f := range fits {
		if f.error <= best.error+tolerance*noise && f.amplitude*best.amplitude > 0 {
			f.likelihood = math.Exp((best.error - f.error) / max(2*noise, math.SmallestNonzeroFloat64))
			accepted = append(accepted, f)
		}
	}
	return accepted
}

// scan fits every scale and shape and returns the fits, the best one first.
func (c *Curve) scan(weights, missing []float64) []fit {
	span := c.Points[len(c.Points)-1].Step
	var fits []fit
	for i := range scales {
		scale := span * shortestScale * math.Pow(longestScale/shortestScale, float64(i)/(scales-1))
		for _, powerLaw := range []bool{false, true} {
			f := c.regress(fit{powerLaw: powerLaw, scale: scale}, weights, missing)
			fits = append(fits, f)
			if f.error < fits[0].error {
				last := len(fits) - 1
				fits[0], fits[last] = fits[last], fits[0]
			}
		}
	}
	return fits
}

// regress finds c and a for a shape and scale by weighted least squares. missing is scratch space of one value per
// point: computing s dominates the cost, so regress computes it once.
func (c *Curve) regress(f fit, weights, missing []float64) fit {
	var sumW, sumS, sumE float64
	for i, p := range c.Points {
		w := weights[i]
		missing[i] = f.missing(p.Step)
		sumW += w
		sumS += w * missing[i]
		sumE += w * p.Value
	}
	var ss, se, ee float64
	for i, p := range c.Points {
		w := weights[i]
		s, e := missing[i]-sumS/sumW, p.Value-sumE/sumW
		ss += w * s * s
		se += w * s * e
		ee += w * e * e
	}
	f.error = ee
	f.final = sumE / sumW
	if ss > 1e-12*sumW {
		f.amplitude = se / ss
		f.final -= f.amplitude * sumS / sumW
		f.error = max(0, ee-se*se/ss)
	}
	return f
}

// downweight reduces the weights of outliers, points that are far from a fit, with Huber's function.
func (c *Curve) downweight(f fit, weights []float64) {
	var sumW, sumS, sumE float64
	for i, p := range c.Points {
		w := weights[i]
		sumW += w
		sumS += w * f.missing(p.Step)
		sumE += w * p.Value
	}
	residuals := make([]float64, len(c.Points))
	sum := 0.0
	for i, p := range c.Points {
		residuals[i] = math.Abs(p.Value - sumE/sumW - f.amplitude*(f.missing(p.Step)-sumS/sumW))
		sum += residuals[i]
	}
	// The limit is 1.5 standard deviations; a standard deviation is 1.25 mean absolute deviations.
	limit := 1.5 * 1.25 * sum / float64(len(residuals))
	for i, r := range residuals {
		if r > limit {
			weights[i] *= limit / r
		}
	}
}
