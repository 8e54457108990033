package batchsize

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/goodput"
)

// Curve is a simulated job.
type Curve struct {
	Name  string
	Range goodput.Range
	// Scale is the noise scale of the gradient, in samples.
	Scale float64
	// Step is the time of a step with a batch.
	Step func(batch float64) growth.Seconds
	// Limit is set for a shape that the search does not claim to solve.
	Limit bool
}

// Goodput is the true goodput with a batch size.
func (c Curve) Goodput(batch int) float64 {
	b, own := float64(batch), float64(c.Range.Default)
	return b / float64(c.Step(b)) * c.Range.Rule.Efficiency(c.Scale, c.Scale, own, b)
}

// Best returns the best size and its goodput.
func (c Curve) Best() (size int, most float64) {
	for b := c.Range.Min; b <= c.Range.Max; b++ {
		if g := c.Goodput(b); g > most {
			size, most = b, g
		}
	}
	return size, most
}

// line is a step with a fixed part and a part for each sample.
func line(fixed, each growth.Seconds) func(float64) growth.Seconds {
	return func(b float64) growth.Seconds { return fixed + each*growth.Seconds(b) }
}

// Curves are the shapes of goodput over the batch size.
func Curves() []Curve {
	sizes := func(own, low, high int) goodput.Range {
		return goodput.Range{Default: own, Min: low, Max: high, Rule: goodput.SquareRoot}
	}
	return []Curve{
		{Name: "rising", Range: sizes(32, 16, 1024), Scale: 5000, Step: line(.05, 1e-5)},
		{Name: "falling", Range: sizes(256, 8, 512), Scale: 20, Step: line(.0001, 1e-4)},
		{Name: "flat", Range: sizes(64, 16, 512), Scale: 1e6, Step: line(0, 1e-4)},
		{Name: "U-shaped, best above", Range: sizes(32, 8, 1024), Scale: 400, Step: line(.02, 1e-4)},
		{Name: "U-shaped, best below", Range: sizes(256, 16, 1024), Scale: 100, Step: line(.002, 1e-4)},
		{Name: "out of the cache", Range: sizes(64, 16, 1024), Scale: 2000, Step: func(b float64) growth.Seconds {
			return growth.Seconds(.01 + 1e-4*b + 5e-4*max(0, b-200))
		}},
		{Name: "limited by data", Range: sizes(64, 16, 1024), Scale: 4000, Step: func(b float64) growth.Seconds {
			return growth.Seconds(max(.02+1e-5*b, 2e-4*b))
		}},
		{Name: "in tiles", Range: sizes(48, 8, 768), Scale: 3000, Step: func(b float64) growth.Seconds {
			return growth.Seconds(.005 + .004*math.Ceil(b/64))
		}},
		{Name: "two summits", Range: sizes(64, 16, 1024), Scale: 5000, Limit: true, Step: func(b float64) growth.Seconds {
			slow := 1 + .6*math.Exp(-8*math.Pow(math.Log2(b/200), 2)) // an algorithm that does not suit sizes around 200
			return growth.Seconds((.02 + 1e-4*b) * slow)
		}},
	}
}
