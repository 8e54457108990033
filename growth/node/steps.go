package node

import (
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// stepCounter counts the steps of a job since its start. The job may number its steps from the start or per epoch.
type stepCounter struct {
	steps   int64 // steps at the last report
	earlier int64 // steps of completed epochs, if steps are numbered per epoch
	last    wire.Progress
}

// add adds a report. If the step goes backwards in a new epoch, the count continues. If it goes backwards within an
// epoch, the job has restarted.
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

// resume continues from the last step of a restored curve, which includes the steps of earlier epochs.
func (c *stepCounter) resume(curve remaining.Curve) {
	if n := len(curve.Points); n > 0 {
		c.earlier += max(0, int64(curve.Points[n-1].Step)-c.steps)
		c.steps = c.earlier + c.last.Step
	}
}
