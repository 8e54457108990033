package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// charged is a job's time on its GPUs, and the part of it in which others computed at the same time, so that the charge is an equal
// part of the busy time. elapsed is the time that has passed.
type charged struct{ elapsed, all, unsure growth.Seconds }

func (c charged) plus(d charged) charged {
	return charged{c.elapsed + d.elapsed, c.all + d.all, c.unsure + d.unsure}
}

func (c charged) times(part growth.Seconds) charged {
	return charged{part * c.elapsed, part * c.all, part * c.unsure}
}

func (c charged) uncertain() bool { return c.unsure > sharedPart*c.all }

// brief reports whether the job has waited nearly all the time. The first steps of each of its turns take up to twice as long as later
// ones, and there are hardly any others.
func (c charged) brief() bool { return c.all < briefPart*c.elapsed }

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
func (t *gpuTime) charge(work growth.Seconds, c charged, part growth.Seconds) {
	if part > 0 {
		t.reported, t.heldReported = t.used+part*work, t.held+part*c.all
		t.charged, t.chargedLate = t.charged.plus(t.chargedLate).plus(c.times(part)), charged{}
	}
	t.used += work
	t.held += c.all
	t.chargedLate = t.chargedLate.plus(c.times(1 - part))
}

// measureGPUCost updates the cost of the job's steps on GPUs. Once it was measured, intervals in which the job has hardly computed do not
// count, and once it was measured alone, those in which others have computed at the same time.
func (j *job) measureGPUCost() {
	t := &j.gpu
	steps, uncertain := j.leader().counter.steps, t.charged.uncertain()
	known, made := t.cost.known, steps-t.cost.lastSteps
	switch {
	case known && made == 0:
		t.cost.add(steps, t.used) // what it has done since its last step
		return
	case uncertain && t.exact, t.charged.brief() && t.cost.measured() > 0:
		t.cost.skip(steps, t.reported)
		t.charged = charged{}
		return
	case !uncertain && !t.exact && known && made > 0 && t.reported > t.cost.lastCPU:
		t.exact, t.stale = true, false
		t.cost.restart()
	}
	t.cost.add(steps, t.reported)
	t.charged = charged{}
}
