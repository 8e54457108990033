package remaining

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// fewest points that are fitted.
	minPoints = 6
	// spread is how much greater the squared error may be, in units of the noise. χ² would have it 1.6 for 80 %; but two
	// shapes are tried, wild points count less, and the tests ask for what the interval really holds.
	tolerance = 5
	// doubt is how many times spread is allowed where it is asked when a metric is good, since to be wrong is dear there: a
	// learning rate falls, reports go wrong together, and a curve that looks flat for a while need not be flat. 5 does as
	// well as 8 on recorded losses (benchmarks/internal/sim), 2 and 16 do not.
	targetTolerance = 8
	// significant is how many times its own noise a curve must explain, per parameter.
	significant = 6
	// scales are tried between a thirtieth and ten times of the steps that were seen.
	scales, shortestScale, longestScale = 60, 1.0 / 30, 10.0
)

// fit is one shape and scale of a curve.
type fit struct {
	powerLaw   bool    // 1/(1+u), else exp(−u)
	scale      float64 // τ, in steps
	error      float64 // the weighted sum of squares
	amplitude  float64 // a: what is missing at the beginning
	likelihood float64 // how likely it is, over the best
}

// left is s: the part of the way that is missing after so many steps.
func (f fit) missing(steps float64) float64 {
	if f.powerLaw {
		return 1 / (1 + steps/f.scale)
	}
	return math.Exp(-steps / f.scale)
}

// reaches is the number of steps after which a part of the way is made; of the way to total, if that is not 0.
func (f fit) stepsTo(part, total float64) float64 {
	if total > 0 {
		part *= 1 - f.missing(total)
	}
	if f.powerLaw {
		return f.scale * (1/(1-part) - 1)
	}
	return -f.scale * math.Log(1-part)
}

// fit returns the curves whose error is greater than the best one's by no more than so much, in units of the noise; none if
// nothing can be said.
func (c *Curve) fit(direction growth.Direction, spread float64) (all []fit) {
	n := len(c.Points)
	if n < minPoints {
		return nil
	}
	weights, left := make([]float64, n), make([]float64, n)
	for i, p := range c.Points {
		weights[i] = float64(p.Reports)
	}
	c.downweight(c.scan(weights, left)[0], weights)
	tried := c.scan(weights, left)
	best := tried[0]
	flat := c.regress(fit{scale: math.Inf(1)}, weights, left) // s = 1 everywhere: the mean alone
	noise := best.error / float64(n-3)
	if best.amplitude*float64(direction) <= 0 || flat.error-best.error <= 3*significant*noise {
		return nil
	}
	for _, f := range tried {
		if f.error <= best.error+spread*noise && f.amplitude*best.amplitude > 0 {
			f.likelihood = math.Exp((best.error - f.error) / max(2*noise, math.SmallestNonzeroFloat64))
			all = append(all, f)
		}
	}
	return all
}

// scan tries every scale and shape; the best is the first.
func (c *Curve) scan(weights, left []float64) []fit {
	span := c.Points[len(c.Points)-1].Step
	var tried []fit
	for i := range scales {
		scale := span * shortestScale * math.Pow(longestScale/shortestScale, float64(i)/(scales-1))
		for _, power := range []bool{false, true} {
			f := c.regress(fit{powerLaw: power, scale: scale}, weights, left)
			if tried = append(tried, f); f.error < tried[0].error {
				tried[0], tried[len(tried)-1] = f, tried[0]
			}
		}
	}
	return tried
}

// regress finds c and a for a shape and scale by weighted least squares. To find what is left at each point is most of what
// that costs: it is noted in left, which is as long as there are points.
func (c *Curve) regress(f fit, weights, left []float64) fit {
	var w, s, e, ss, se, ee float64
	for i, p := range c.Points {
		left[i] = f.missing(p.Step)
		w, s, e = w+weights[i], s+weights[i]*left[i], e+weights[i]*p.Value
	}
	for i, p := range c.Points {
		x, y := left[i]-s/w, p.Value-e/w
		ss, se, ee = ss+weights[i]*x*x, se+weights[i]*x*y, ee+weights[i]*y*y
	}
	f.error = ee
	if ss > 1e-12*w {
		f.amplitude = se / ss
		f.error = max(0, ee-se*se/ss)
	}
	return f
}

// distrust lowers the weights of points that lie far from a fit, as Huber does.
func (c *Curve) downweight(f fit, weights []float64) {
	var w, s, e float64
	for i, p := range c.Points {
		w, s, e = w+weights[i], s+weights[i]*f.missing(p.Step), e+weights[i]*p.Value
	}
	off := make([]float64, len(c.Points))
	sum := 0.0
	for i, p := range c.Points {
		off[i] = math.Abs(p.Value - e/w - f.amplitude*(f.missing(p.Step)-s/w))
		sum += off[i]
	}
	usual := 1.5 * 1.25 * sum / float64(len(off)) // 1.5 standard deviations, of which 1.25 mean deviations are one
	for i := range off {
		if off[i] > usual {
			weights[i] *= usual / off[i]
		}
	}
}
