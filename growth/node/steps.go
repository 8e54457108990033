package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// stepCounter counts the steps of a job since its start. The job may number its steps from the start or per epoch.
type stepCounter struct {
	steps   int64 // steps at the last report
	earlier int64 // steps of completed epochs, if steps are numbered per epoch
	last    wire.Progress
	epochs  []epochStart // of jobs that number their steps per epoch
}

// epochStart is the number of steps before an epoch.
type epochStart struct{ epoch, earlier int64 }

// maxEpochs bounds the epochs whose start is known. A job that goes back further starts over.
const maxEpochs = 64

// add adds a report. If the step goes backwards in a new epoch, the count continues. If it goes backwards within an
// epoch, or to an earlier one, the job has restarted: it may continue from a checkpoint of that epoch.
func (c *stepCounter) add(p wire.Progress) {
	switch {
	case p.Step >= c.last.Step:
	case p.Epoch > c.last.Epoch:
		c.enter(p.Epoch, c.earlier+c.last.Step)
	default:
		c.goBack(p.Epoch)
	}
	c.last = p
	c.steps = c.earlier + p.Step
}

func (c *stepCounter) enter(epoch, earlier int64) {
	c.earlier = earlier
	if len(c.epochs) == maxEpochs {
		c.epochs = slices.Delete(c.epochs, 0, 1)
	}
	c.epochs = append(c.epochs, epochStart{epoch, earlier})
}

// goBack restores the number of steps before an epoch.
func (c *stepCounter) goBack(epoch int64) {
	c.epochs = slices.DeleteFunc(c.epochs, func(e epochStart) bool { return e.epoch > epoch })
	c.earlier = 0
	if n := len(c.epochs); n > 0 {
		c.earlier = c.epochs[n-1].earlier
	}
}

// resume continues from the last step of a restored curve, which includes the steps of earlier epochs.
func (c *stepCounter) resume(curve remaining.Curve) {
	if n := len(curve.Points); n > 0 {
		c.earlier += max(0, int64(curve.Points[n-1].Step)-c.steps)
		c.steps = c.earlier + c.last.Step
		c.enter(c.last.Epoch, c.earlier)
	}
}
