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

// resume goes on where a curve ends, whose steps those of epochs that ended were counted among.
func (o *odometer) resume(c remaining.Curve) {
	if n := len(c.Points); n > 0 {
		o.earlier += max(0, int64(c.Points[n-1].Step)-o.steps)
		o.steps = o.earlier + o.last.Step
	}
}

// forgetting is what an interval leaves of the ones before it, one that has a good part of their steps: a job that waits for
// its turn makes a few, dearer ones in each, and must not forget what they cost when it is served.
const forgetting, goodPart = 0.7, 0.25

// cost learns what a step costs in CPU. Intervals count by their steps: one in which hardly a step was made says little.
type cost struct {
	made, used, off float64 // steps, core-seconds, and how far off those were, each interval less the older it is

	known bool // the two below are from an earlier interval of this job
	steps int64
	cpu   growth.Seconds
	since growth.Seconds // CPU used after that, without a step

	first growth.CoreSeconds // used when steps were first seen
	begun float64            // how many those were
	anew  bool               // the job or the coordinator began again: those two are of an earlier life
}

// bare tells that first steps have been seen, and nothing yet of what they cost.
func (c *cost) bare() bool { return c.known && c.begun > 0 && c.made == 0 }

// note takes in how many steps have been made, and what CPU has been used, since the job began. What was used before the
// first step, to import and to read data, is no step's.
func (c *cost) note(steps int64, cpu growth.Seconds) {
	if !c.known && steps == 0 {
		return
	}
	made, used := float64(steps-c.steps), float64(cpu-c.cpu)
	if c.known && made == 0 && used >= 0 {
		c.since = growth.Seconds(used)
		return // let it add up to the next step
	}
	known := c.known
	if !known && c.made == 0 {
		c.first, c.begun = growth.CoreSeconds(cpu), float64(steps)
	}
	c.known, c.steps, c.cpu, c.since, c.anew = true, steps, cpu, 0, c.anew || known && (made < 0 || used < 0)
	if !known || made <= 0 || used <= 0 {
		return
	}
	off, left := used/4, 0.0 // the first interval says little
	if c.made > 0 {
		off = math.Abs(used - made*c.used/c.made)
		left = math.Pow(forgetting, min(1, made/c.made/goodPart))
	}
	c.made, c.used, c.off = left*c.made+made, left*c.used+used, left*c.off+off
}

// suppose takes up, before anything is known of this job's own steps, what another's have cost: as if learned from some. The
// first of its own are often made in a crowd, a few in each interval, at twice what they cost when it is served.
func (c *cost) suppose(perStep growth.CoreSeconds, steps float64) {
	if c.bare() && perStep > 0 && steps > 0 {
		used := float64(perStep) * steps
		c.made, c.used, c.off = steps, used, used/4
	}
}

// overall is what a step has cost in the job's whole life, which the steps of another are foretold by.
func (c *cost) overall() growth.CoreSeconds {
	if made, used := float64(c.steps)-c.begun, growth.CoreSeconds(c.cpu)-c.first; !c.anew && made > 0 && used > 0 {
		return used / growth.CoreSeconds(made)
	}
	mean, _ := c.perStep()
	return mean
}

// perStep is what a step costs, and how sure that is: half the mean distance of an interval from it. Zero is not known.
func (c *cost) perStep() (mean, spread growth.CoreSeconds) {
	if c.made == 0 {
		return 0, 0
	}
	return growth.CoreSeconds(c.used / c.made), growth.CoreSeconds(c.off / c.made / 2)
}

// start is what the job took to its first step, as far as its steps have cost what they do now.
func (c *cost) start() growth.CoreSeconds {
	mean, _ := c.perStep()
	return max(0, c.first-growth.CoreSeconds(c.begun)*mean)
}

// resume takes up what was known, as if learned in one step: the next interval knows better.
func (c *cost) resume(start, mean, spread growth.CoreSeconds) {
	if mean > 0 && spread >= 0 {
		c.made, c.used, c.off, c.first, c.anew = 1, float64(mean), 2*float64(spread), start, true
	}
}

// leaving is what a job is thought to need after its last step, to save and to end. Without it such a job has no end that is
// known; if it was served ahead of others, it is owed nothing either, and waits with nothing but the door before it.
const leaving growth.CoreSeconds = 2

// left is the work to the end of a job that has said how many steps it will take. The end of one that makes more of them,
// or that stays when it has used what it was to leave with, is not known any more.
func (c *cost) left(steps, total int64) remaining.Estimate {
	mean, spread := c.perStep()
	if total <= 0 || mean <= 0 {
		return remaining.Estimate{}
	}
	rest, end, least := growth.CoreSeconds(max(total-steps, 0)), leaving, leaving/2
	switch {
	case steps > total:
		end, least = 0, 0
	case steps == total: // it may end at once
		end, least = max(leaving-growth.CoreSeconds(c.since), 0), 0
	}
	return remaining.Estimate{Low: rest*max(mean-spread, 0) + least, Likely: rest*mean + end, High: rest*(mean+spread) + end, Known: true}
}
