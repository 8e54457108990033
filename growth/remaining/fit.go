package remaining

import (
	"math"

	"gonum.org/v1/gonum/stat"

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
	// leastVariance is the variance of s at the points below which it counts as constant.
	leastVariance = 1e-12
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
	values, weights, missing := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, p := range c.Points {
		values[i], weights[i] = p.Value, float64(p.Reports)
	}
	c.downweight(c.scan(values, weights, missing)[0], values, weights)
	fits := c.scan(values, weights, missing)
	best := fits[0]
	constant := c.regress(fit{scale: math.Inf(1)}, values, weights, missing) // s = 1 everywhere
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
func (c *Curve) scan(values, weights, missing []float64) []fit {
	span := c.Points[len(c.Points)-1].Step
	var fits []fit
	for i := range scales {
		scale := span * shortestScale * math.Pow(longestScale/shortestScale, float64(i)/(scales-1))
		for _, powerLaw := range []bool{false, true} {
			f := c.regress(fit{powerLaw: powerLaw, scale: scale}, values, weights, missing)
			fits = append(fits, f)
			if f.error < fits[0].error {
				last := len(fits) - 1
				fits[0], fits[last] = fits[last], fits[0]
			}
		}
	}
	return fits
}

// regress finds c and a for a shape and scale by weighted least squares. missing is scratch space of one value per point.
func (c *Curve) regress(f fit, values, weights, missing []float64) fit {
	for i, p := range c.Points {
		missing[i] = f.missing(p.Step)
	}
	if stat.PopVariance(missing, weights) > leastVariance {
		f.final, f.amplitude = stat.LinearRegression(missing, values, weights, false)
	} else {
		f.final = stat.Mean(values, weights)
	}
	for i, w := range weights {
		residual := values[i] - f.final - f.amplitude*missing[i]
		f.error += w * residual * residual
	}
	return f
}

// downweight reduces the weights of outliers, points that are far from a fit, with Huber's function.
func (c *Curve) downweight(f fit, values, weights []float64) {
	residuals := make([]float64, len(c.Points))
	for i, p := range c.Points {
		residuals[i] = math.Abs(values[i] - f.final - f.amplitude*f.missing(p.Step))
	}
	// The limit is 1.5 standard deviations; a standard deviation is 1.25 mean absolute deviations.
	limit := 1.5 * 1.25 * stat.Mean(residuals, nil)
	for i, r := range residuals {
		if r > limit {
			weights[i] *= limit / r
		}
	}
}
