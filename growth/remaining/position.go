package remaining

import (
	"math"
	"slices"
)

// At returns the metric at a step, interpolated between the neighbouring points, and half of their difference. A step
// after the last point has its value. ok is false for an empty curve and for a step before the first point.
func (c *Curve) At(step float64) (value, spread float64, ok bool) {
	i := slices.IndexFunc(c.Points, func(p Point) bool { return p.Step > step })
	switch {
	case len(c.Points) == 0 || i == 0:
		return 0, 0, false
	case i < 0:
		return c.Points[len(c.Points)-1].Value, 0, true
	}
	a, b := c.Points[i-1], c.Points[i]
	part := (step - a.Step) / (b.Step - a.Step)
	return (1-part)*a.Value + part*b.Value, math.Abs(b.Value/2 - a.Value/2), true
}

// Truncate removes the points after a step, because the job makes those steps again.
func (c *Curve) Truncate(step float64) {
	c.Points = slices.DeleteFunc(c.Points, func(p Point) bool { return p.Step > step })
}

// Rescale multiplies the values before a step, because the metric has another scale from there on.
func (c *Curve) Rescale(factor, since float64) {
	for i := range c.Points {
		if c.Points[i].Step < since {
			c.Points[i].Value *= factor
		}
	}
	if c.First != nil {
		first := *c.First * factor
		c.First = &first
	}
}
