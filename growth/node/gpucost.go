package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// charged is a job's time on its GPUs, of the time that has elapsed, the work that it was charged for that, and the part of it in which
// others computed at the same time, so that the charge is an equal part of the busy time.
type charged struct{ elapsed, all, work, unsure growth.Seconds }

func (c charged) plus(d charged) charged {
	return charged{c.elapsed + d.elapsed, c.all + d.all, c.work + d.work, c.unsure + d.unsure}
}

func (c charged) times(part growth.Seconds) charged {
	return charged{part * c.elapsed, part * c.all, part * c.work, part * c.unsure}
}

func (c charged) uncertain() bool { return c.unsure > sharedPart*c.all }

// brief reports whether the job has waited nearly all the time. The first steps of each of its turns take up to twice as long as later
// ones, and there are hardly any others: what they cost is more than the cost of a step.
func (c charged) brief() bool { return c.all < briefPart*c.elapsed }

// takesTurns reports whether the job has had its GPUs for a part of the time only.
func (c charged) takesTurns() bool { return c.all < mostOfTurns*c.elapsed }

// turnSteps are the steps of the turns that have ended since the cost of a step was last measured, in which the job has computed alone. They
// are counted when a turn ends. Its other reports are read up to a second later, when some of its work belongs to steps that are not
// reported yet.
type turnSteps struct {
	steps int64
	held  growth.Seconds
}

func (t turnSteps) plus(s turnSteps) turnSteps { return turnSteps{t.steps + s.steps, t.held + s.held} }

// turnsSince returns the steps between two readings, none if the counters do not fit together.
func turnsSince(use, last GPUUse) turnSteps {
	t := turnSteps{use.AloneSteps - last.AloneSteps, use.AloneIn - last.AloneIn}
	if t.steps <= 0 || !(t.held > 0) {
		return turnSteps{}
	}
	return t
}

// reportedPart returns the part of the time since a look that had passed when the job last reported steps; 0 if it has reported none.
// A job is read once a second: what it has done since then belongs to steps that are reported later.
func (j *job) reportedPart(look, now time.Time) growth.Seconds {
	at := j.leader().stepped
	if !at.After(look) || !now.After(look) {
		return 0
	}
	return growth.Seconds(min(1, at.Sub(look).Seconds()/now.Sub(look).Seconds()))
}

// charge adds the work of a job since the last look. part is the part of that time up to its last report of steps.
func (t *gpuTime) charge(c charged, part growth.Seconds) {
	if part > 0 {
		t.reported, t.heldReported = t.used+part*c.work, t.held+part*c.all
		t.charged, t.chargedLate = t.charged.plus(t.chargedLate).plus(c.times(part)), charged{}
	}
	t.used += c.work
	t.held += c.all
	t.chargedLate = t.chargedLate.plus(c.times(1 - part))
}

// countsSteps reports whether the steps of the job's turns are known when a turn ends.
func (j *job) countsSteps() bool {
	return j.gpu.seen.Gated && j.gpu.seen.Steps > 0 && j.leader().spec.Progress.Source == gpushare.FromSocket
}

// measureGPUCost updates the cost of the job's steps on GPUs. Once it was measured alone, intervals in which others have computed at the
// same time no longer count.
func (j *job) measureGPUCost() {
	t := &j.gpu
	steps, uncertain, counts := j.leader().counter.steps, t.charged.uncertain(), j.countsSteps()
	known, made := t.cost.known, steps-t.cost.lastSteps
	switch {
	case known && made == 0:
		t.cost.add(steps, t.used) // what it has done since its last step
		return
	case uncertain && t.exact:
		t.cost.skip(steps, t.reported)
	case t.charged.brief() && (t.cost.measured() > 0 || counts && t.cost.steps > 0):
		t.cost.skip(steps, t.reported)
		t.boundCost()
	case counts && known && made > 0 && !uncertain && t.charged.takesTurns():
		if t.turns.steps == 0 {
			return // its turn has not ended
		}
		t.isAlone()
		t.cost.skip(steps, t.reported)
		t.cost.measure(float64(t.turns.steps), float64(t.workOfTurns()))
	default:
		t.addReported(steps)
	}
	t.charged, t.turns = charged{}, turnSteps{}
}

// addReported adds the work up to the last report of steps.
func (t *gpuTime) addReported(steps int64) {
	if t.cost.known && steps > t.cost.lastSteps && t.reported > t.cost.lastCPU && !t.charged.uncertain() {
		t.isAlone()
	}
	t.cost.add(steps, t.reported)
}

// boundCost lowers the cost of a step to what those of brief turns have cost.
func (t *gpuTime) boundCost() {
	if mean, _ := t.cost.perStep(); t.workOfTurns() < mean*growth.Work(t.turns.steps) {
		t.cost.measure(float64(t.turns.steps), float64(t.workOfTurns()))
	}
}

// workOfTurns is the work of the steps of turns. Time on several GPUs, or next to jobs that are never paused, is charged by another rate.
func (t *gpuTime) workOfTurns() growth.Work {
	if t.charged.all == 0 {
		return growth.Work(t.turns.held)
	}
	return growth.Work(t.turns.held * t.charged.work / t.charged.all)
}

// isAlone forgets what was measured while others computed too, once the job has computed alone.
func (t *gpuTime) isAlone() {
	if !t.exact {
		t.exact, t.stale = true, false
		t.cost.restart()
	}
}
