package loop

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// odometer makes one count of steps of a job's reports, whatever the job counts.
type odometer struct {
	steps   int64 // up to the last report
	earlier int64 // of epochs that ended
	last    wire.Progress
}

// note takes in a report. Steps that begin again with a new epoch go on; other steps that go back are a restart.
func (o *odometer) note(p wire.Progress) {
	switch {
	case p.Step >= o.last.Step:
	case p.Epoch > o.last.Epoch:
		o.earlier += o.last.Step
	default:
		o.earlier = 0
	}
	o.last = p
	o.steps = o.earlier + p.Step
}

// costSmoothing is the weight of the newest interval in what a step costs.
const costSmoothing = 0.3

// cost learns what a step costs in CPU.
type cost struct {
	perStep growth.CoreSeconds // 0: not known
	spread  growth.CoreSeconds // mean distance of an interval from it

	known bool // the two below are from an earlier interval of this job
	steps int64
	cpu   growth.Seconds
}

// note takes in how many steps have been made, and what CPU has been used, since the job began.
func (c *cost) note(steps int64, cpu growth.Seconds) {
	made, used := steps-c.steps, cpu-c.cpu
	if c.known && made == 0 && used >= 0 {
		return // let it add up to the next step
	}
	known := c.known
	c.known, c.steps, c.cpu = true, steps, cpu
	if !known || made <= 0 || used <= 0 {
		return
	}
	now := growth.CoreSeconds(float64(used) / float64(made))
	if c.perStep == 0 {
		c.perStep, c.spread = now, now/4 // one interval says little
		return
	}
	off := growth.CoreSeconds(math.Abs(float64(now - c.perStep)))
	c.spread += costSmoothing * (off - c.spread)
	c.perStep += costSmoothing * (now - c.perStep)
}

// left is the work to the end of a job that has said how many steps it will take.
func (c *cost) left(steps, total int64) remaining.Estimate {
	if total <= 0 || c.perStep <= 0 {
		return remaining.Estimate{}
	}
	rest := growth.CoreSeconds(max(total-steps, 0))
	return remaining.Estimate{
		Low: rest * max(c.perStep-c.spread, 0), Likely: rest * c.perStep, High: rest * (c.perStep + c.spread), Known: true,
	}
}

const (
	// demandMargin is what a job is thought to be able to use above what it does.
	demandMargin = 1.1
	// entitled is the part of its share below which a job leaves CPU unused.
	entitled = 0.8
	// leastDemand is the least a job is thought to be able to use: it may be waiting for its data, or validating.
	leastDemand = growth.Core / 10
)

// demand learns how much CPU a job can use at once: 0 while that is not known.
type demand growth.MilliCPU

// note takes in what a job used of what it was entitled to, and whether the node had CPU to spare. A job that had more
// within reach and left it used all it could; of one that was held down only the least is known.
func (d *demand) note(used, entitlement growth.MilliCPU, spare bool) {
	now := demand(max(float64(used)*demandMargin, float64(leastDemand)))
	if *d != 0 && (spare || float64(used) < entitled*float64(entitlement)) {
		*d = (*d + now) / 2
		return
	}
	*d = max(*d, now)
}
