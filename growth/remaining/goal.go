package remaining

import "github.com/trellis-gpu/trellis/growth"

// Goal is the value at which a job's metric is good. A report can be held against it at once, without a fit.
type Goal struct {
	value     float64
	direction growth.Direction
	reports   int // in a row that met it
}

// Goal is that of a job of total steps that goes on as the curve has gone; nil where the curve has not come that far.
func (c *Curve) Goal(direction growth.Direction, total float64) *Goal {
	if total == 0 || total > further*c.steps() {
		return nil
	}
	w := c.way(total)
	return &Goal{value: w.begin + almost*(w.end-w.begin), direction: direction}
}

// Met takes in a report and tells whether enough in a row were good. One may be noise.
func (g *Goal) Met(value float64) bool {
	g.reports++
	if !((g.value-value)*float64(g.direction) >= 0) { // worse, or no number
		g.reports = 0
	}
	return g.reports >= near
}
