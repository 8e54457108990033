package history

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// maxRebuild bounds what one change of the loaders is believed to cost.
const maxRebuild growth.Seconds = 120

// rebuild measures what a change of the data loaders costs a job: by how much the steps around the change take longer, in
// total, than before and after. A job acknowledges its new number of workers before it rebuilds, so the interval after
// the change belongs to it. The time until then does not: a job may take another number, or another batch size, hours after the advice.
type rebuild struct {
	// steps and total are the steps since the change began and their time; steps is 0 if no change is measured.
	steps int64
	total growth.Seconds
	// settling is set until the interval after the change has been added.
	settling bool
	// usual is the time of a step in the last interval without a change.
	usual growth.Seconds
	// cost is nil before a change was measured.
	cost *growth.Seconds
}

// add adds the interval between two samples.
func (r rebuild) add(before, s bus.Sample) rebuild {
	steps := s.Steps() - before.Steps()
	if before.Loaders == nil || s.Loaders == nil || steps <= 0 || !(s.StepSeconds > 0) {
		return r
	}
	changing := *before.Loaders != *s.Loaders
	if changing || r.settling {
		r.settling = changing
		r.steps += steps
		r.total += min(growth.Seconds(steps)*s.StepSeconds, maxTotal)
		return r
	}
	if r.steps > 0 {
		excess := r.total - growth.Seconds(r.steps)*max(r.usual, s.StepSeconds)
		r.cost = new(min(max(0, excess), maxRebuild))
	}
	r.steps, r.total = 0, 0
	r.usual = s.StepSeconds
	return r
}

// maxTotal bounds the time of the steps of one interval.
const maxTotal growth.Seconds = 24 * 3600
