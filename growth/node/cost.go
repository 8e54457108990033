package node

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// decay is the factor by which an interval reduces the weight of earlier ones, if it has at least decayPart of
	// their steps. An interval with fewer steps reduces it less: a waiting job makes few and expensive steps per
	// interval, and these must not replace the cost of a step while the job is served.
	decay     = 0.7
	decayPart = 0.25
	// maxAssumedRatio is the largest ratio between a measured cost and an assumed one that the measurement confirms.
	maxAssumedRatio = 4
)

// stepCost estimates the work of one step, in core-seconds or GPU-seconds. Each interval is weighted by its number of steps.
type stepCost struct {
	steps, used float64 // decayed sums of steps and of core-seconds
	deviation   float64 // decayed sum of the intervals' distances from the mean, in core-seconds

	known     bool // lastSteps and lastCPU are set
	lastSteps int64
	lastCPU   growth.Seconds
	idle      growth.Seconds // CPU used since lastCPU without a completed step

	firstCPU    growth.Work // total CPU at the first observed steps
	firstSteps  float64     // total steps at that time
	borrowed    float64     // of steps, what was assumed and not measured
	unconfirmed bool        // the assumed cost is from another node, and no interval has confirmed it
	restarted   bool        // the job or the coordinator has restarted since the first values
}

// unmeasured reports whether steps have been observed but their cost is not known yet.
func (c *stepCost) unmeasured() bool { return c.known && c.firstSteps > 0 && c.steps == 0 }

// add adds an interval, given the totals of steps and CPU since the job started. It excludes the CPU before the first
// step, which the job used for imports and for reading data.
func (c *stepCost) add(steps int64, cpu growth.Seconds) {
	if !c.known && steps == 0 {
		return
	}
	made := float64(steps - c.lastSteps)
	used := float64(cpu - c.lastCPU)
	if c.known && made == 0 && used >= 0 {
		c.idle = growth.Seconds(used)
		return // counted with the next step
	}
	first := !c.known
	if first && c.steps == 0 {
		c.firstCPU = growth.Work(cpu)
		c.firstSteps = float64(steps)
	}
	if !first && (made < 0 || used < 0) {
		c.restarted = true
	}
	c.known, c.lastSteps, c.lastCPU, c.idle = true, steps, cpu, 0
	if first || made <= 0 || used <= 0 {
		return
	}
	c.measure(made, used)
}

// measure adds steps and the CPU that they used.
func (c *stepCost) measure(made, used float64) {
	if c.assumed() && contradicts(used/made, c.used/c.steps) {
		c.restart()
	}
	c.unconfirmed = false
	off, kept := used/4, 0.0 // the assumed deviation of the first interval
	if c.steps > 0 {
		off = math.Abs(used - made*c.used/c.steps)
		kept = math.Pow(decay, min(1, made/c.steps/decayPart))
	}
	c.steps, c.borrowed = kept*c.steps+made, kept*c.borrowed
	c.used = kept*c.used + used
	c.deviation = kept*c.deviation + off
}

// skip leaves out an interval.
func (c *stepCost) skip(steps int64, cpu growth.Seconds) {
	c.known, c.lastSteps, c.lastCPU, c.idle = true, steps, cpu, 0
}

// forget gives the measured cost the weight of one step, so that the next interval dominates.
func (c *stepCost) forget() {
	if c.steps > 1 {
		c.borrowed /= c.steps
		c.steps, c.used, c.deviation = 1, c.used/c.steps, c.deviation/c.steps
	}
}

// restart forgets what was measured so far.
func (c *stepCost) restart() {
	c.steps, c.used, c.deviation = 0, 0, 0
	c.borrowed, c.unconfirmed = 0, false
}

// join adds what was measured before the last restart.
func (c *stepCost) join(earlier stepCost) {
	c.steps += earlier.steps
	c.used += earlier.used
	c.deviation += earlier.deviation
	c.borrowed += earlier.borrowed
}

// contradicts reports whether a measured cost is too far from the assumed one for both to be true. The first steps of a
// waiting job look up to twice as expensive as they are.
func contradicts(measured, assumed float64) bool {
	return max(measured, assumed) > maxAssumedRatio*min(measured, assumed)
}

// assumed reports whether most of the cost was assumed.
func (c *stepCost) assumed() bool { return c.borrowed > c.steps/2 }

// measured returns the cost of a step if most of it was measured; else 0.
func (c *stepCost) measured() growth.Work {
	if c.assumed() {
		return 0
	}
	mean, _ := c.perStep()
	return mean
}

// assume sets the cost to that of another job's steps, as if the given number of them had been measured. Without it,
// the first steps of a waiting job would overestimate the cost by a factor of up to two. remote is set for a job of another node.
func (c *stepCost) assume(perStep growth.Work, steps float64, remote bool) {
	if c.unmeasured() && perStep > 0 && steps > 0 {
		c.steps = steps
		c.used = float64(perStep) * steps
		c.deviation = c.used / 4
		c.borrowed, c.unconfirmed = steps, remote
	}
}

// overall returns the mean cost of a step over the job's lifetime, which predicts the steps of similar jobs.
func (c *stepCost) overall() growth.Work {
	made := float64(c.lastSteps) - c.firstSteps
	used := growth.Work(c.lastCPU) - c.firstCPU
	if !c.restarted && made > 0 && used > 0 {
		return used / growth.Work(made)
	}
	mean, _ := c.perStep()
	return mean
}

// perStep returns the cost of a step, and half of the mean deviation of the intervals from it. Zero means unknown.
func (c *stepCost) perStep() (mean, spread growth.Work) {
	if c.steps == 0 {
		return 0, 0
	}
	return growth.Work(c.used / c.steps), growth.Work(c.deviation / c.steps / 2)
}

// start estimates the CPU used before the first step. It assumes that the steps before the first report had the present
// cost.
func (c *stepCost) start() growth.Work {
	mean, _ := c.perStep()
	return max(0, c.firstCPU-growth.Work(c.firstSteps)*mean)
}

// resume restores the values of an earlier coordinator with the weight of one step, so the next interval dominates.
func (c *stepCost) resume(start, mean, spread growth.Work) {
	if mean > 0 && spread >= 0 {
		c.steps, c.used, c.deviation = 1, float64(mean), 2*float64(spread)
		c.firstCPU, c.restarted = start, true
	}
}

// exitWork is the work that a job is assumed to need after its last step, to save and to exit. Without it the job's end
// would become unknown at its last step, and the job would have to wait just before it exits.
const exitWork growth.Work = 2

// exitWorkOnGPU is likewise the work on a GPU, such as a last evaluation.
const exitWorkOnGPU growth.Work = 0.2

// remaining returns the remaining work of a job that has declared its total number of steps. It becomes unknown when
// the job makes more steps than that, or has used up exitWork.
func (c *stepCost) remaining(steps, total int64, unit growth.Unit) remaining.Estimate {
	mean, spread := c.perStep()
	if total <= 0 || mean <= 0 {
		return remaining.Estimate{}
	}
	rest := growth.Work(max(total-steps, 0))
	exit := exitWork
	if unit == growth.GPUSecond {
		exit = exitWorkOnGPU
	}
	least := exit / 2
	switch {
	case steps > total:
		exit, least = 0, 0
	case steps == total: // it may exit at once
		exit, least = max(exit-growth.Work(c.idle), 0), 0
	}
	return remaining.Estimate{
		Low:    rest*max(mean-spread, 0) + least,
		Likely: rest*mean + exit,
		High:   rest*(mean+spread) + exit,
		Known:  true,
		Unit:   unit,
	}
}
