package node

import (
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// stepCounter turns a job's reports into one count of steps, whether the job counts from its start or per epoch.
type stepCounter struct {
	steps   int64 // up to the last report
	earlier int64 // of epochs that have ended
	last    wire.Progress
}

// add counts a report. A step that goes back with a new epoch continues the count; any other step that goes back is a
// restart of the job.
func (c *stepCounter) add(p wire.Progress) {
	switch {
	case p.Step >= c.last.Step:
	case p.Epoch > c.last.Epoch:
		c.earlier += c.last.Step
	default:
		c.earlier = 0
	}
	c.last = p
	c.steps = c.earlier + p.Step
}

// resume continues after the last step of a curve, which includes the steps of earlier epochs.
func (c *stepCounter) resume(curve remaining.Curve) {
	if n := len(curve.Points); n > 0 {
		c.earlier += max(0, int64(curve.Points[n-1].Step)-c.steps)
		c.steps = c.earlier + c.last.Step
	}
}
