package node

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// decay is the weight that an interval leaves to the earlier ones, if it has at least decayPart of their steps. A
	// job that waits makes few and expensive steps per interval. It must not forget what a step costs when it is
	// served.
	decay     = 0.7
	decayPart = 0.25
)

// stepCost estimates the CPU cost of one step. Intervals count by their steps.
type stepCost struct {
	steps, used float64 // decayed sums of steps and of core-seconds
	deviation   float64 // decayed sum of the distances of intervals from the mean

	known     bool // lastSteps and lastCPU are from an earlier interval of this job
	lastSteps int64
	lastCPU   growth.Seconds
	idle      growth.Seconds // CPU used since then, without a step

	firstCPU   growth.CoreSeconds // used when the first steps were seen
	firstSteps float64            // the number of those
	restarted  bool               // the job or the coordinator restarted: the first values are from before
}

// unmeasured reports whether steps were seen whose cost is unknown.
func (c *stepCost) unmeasured() bool { return c.known && c.firstSteps > 0 && c.steps == 0 }

// add counts an interval, given the totals of steps and CPU since the job started. The CPU before the first step, for
// imports and for reading data, belongs to no step.
func (c *stepCost) add(steps int64, cpu growth.Seconds) {
	if !c.known && steps == 0 {
		return
	}
	made := float64(steps - c.lastSteps)
	used := float64(cpu - c.lastCPU)
	if c.known && made == 0 && used >= 0 {
		c.idle = growth.Seconds(used)
		return // it belongs to the next step
	}
	first := !c.known
	if first && c.steps == 0 {
		c.firstCPU = growth.CoreSeconds(cpu)
		c.firstSteps = float64(steps)
	}
	if !first && (made < 0 || used < 0) {
		c.restarted = true
	}
	c.known, c.lastSteps, c.lastCPU, c.idle = true, steps, cpu, 0
	if first || made <= 0 || used <= 0 {
		return
	}
	off, kept := used/4, 0.0 // one interval is little evidence
	if c.steps > 0 {
		off = math.Abs(used - made*c.used/c.steps)
		kept = math.Pow(decay, min(1, made/c.steps/decayPart))
	}
	c.steps = kept*c.steps + made
	c.used = kept*c.used + used
	c.deviation = kept*c.deviation + off
}

// assume starts from the cost of another job's steps, as if some of them had been measured here. The first steps of a
// waiting job cost up to twice what they cost when it is served.
func (c *stepCost) assume(perStep growth.CoreSeconds, steps float64) {
	if c.unmeasured() && perStep > 0 && steps > 0 {
		c.steps = steps
		c.used = float64(perStep) * steps
		c.deviation = c.used / 4
	}
}

// overall is the mean cost of a step since the start of the job. It predicts the steps of similar jobs.
func (c *stepCost) overall() growth.CoreSeconds {
	made := float64(c.lastSteps) - c.firstSteps
	used := growth.CoreSeconds(c.lastCPU) - c.firstCPU
	if !c.restarted && made > 0 && used > 0 {
		return used / growth.CoreSeconds(made)
	}
	mean, _ := c.perStep()
	return mean
}

// perStep is the cost of a step, and half the mean deviation of an interval from it. Zero means unknown.
func (c *stepCost) perStep() (mean, spread growth.CoreSeconds) {
	if c.steps == 0 {
		return 0, 0
	}
	return growth.CoreSeconds(c.used / c.steps), growth.CoreSeconds(c.deviation / c.steps / 2)
}

// start is the CPU used before the first step, if the steps before the first report cost what they cost now.
func (c *stepCost) start() growth.CoreSeconds {
	mean, _ := c.perStep()
	return max(0, c.firstCPU-growth.CoreSeconds(c.firstSteps)*mean)
}

// resume starts from what an earlier coordinator measured, with the weight of one step: the next interval counts more.
func (c *stepCost) resume(start, mean, spread growth.CoreSeconds) {
	if mean > 0 && spread >= 0 {
		c.steps, c.used, c.deviation = 1, float64(mean), 2*float64(spread)
		c.firstCPU, c.restarted = start, true
	}
}

// exitWork is what a job is assumed to need after its last step, to save and to exit. Without it, the end of such a job
// would be unknown, and a job that was served ahead of others would have to wait just before its end.
const exitWork growth.CoreSeconds = 2

// left is the work to the end of a job that has declared its total of steps. The end becomes unknown when the job makes
// more steps than that, or has used up exitWork.
func (c *stepCost) left(steps, total int64) remaining.Estimate {
	mean, spread := c.perStep()
	if total <= 0 || mean <= 0 {
		return remaining.Estimate{}
	}
	rest := growth.CoreSeconds(max(total-steps, 0))
	exit, least := exitWork, exitWork/2
	switch {
	case steps > total:
		exit, least = 0, 0
	case steps == total: // it may exit at once
		exit, least = max(exitWork-growth.CoreSeconds(c.idle), 0), 0
	}
	return remaining.Estimate{
		Low:    rest*max(mean-spread, 0) + least,
		Likely: rest*mean + exit,
		High:   rest*(mean+spread) + exit,
		Known:  true,
	}
}
