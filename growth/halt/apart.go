package halt

import (
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// patience is the time in which processes that name no world size must reach the step of an order, or come close to it.
const patience = 20 * time.Second

// WorldSize returns the number of ranks of the job, as far as they name it.
func (j *Job) WorldSize() int {
	size := 0
	for _, m := range j.all {
		size = max(size, m.worldSize)
	}
	return size
}

// Several reports whether the job has several ranks, or several processes that may be ranks without saying so.
func (j *Job) Several() bool { return len(j.all) > 1 || j.WorldSize() > 1 }

// onlyAnswers reports whether a process makes no steps, as a DataLoader worker that has fetched a value: it answers orders,
// and never stops. A process that has not made a step yet may still do so, unless another one of its rank makes the steps.
func (j *Job) onlyAnswers(m *process) bool {
	if m.trains {
		return false
	}
	for _, other := range j.all {
		if other.trains && other.rank == m.rank {
			return true
		}
	}
	return false
}

// nearer names an earlier step if only processes without a world size have yet to stop, and are far from the present one.
// Such processes need not be ranks of one job: one that evaluates may never reach the step of one that trains. The last of
// them stops after its present step. That is safe for a rank, too: the others have completed the step of the order, so this
// one is in that step.
func (j *Job) nearer(now time.Time) bool {
	if now.Sub(j.ordered) < patience {
		return false
	}
	after, left := int64(0), 0
	for _, m := range j.all {
		switch {
		case j.onlyAnswers(m) || m.stopped && m.step >= j.order.AfterStep:
		case m.worldSize > 1:
			return false
		default:
			after = max(after, m.step)
			left++
		}
	}
	switch left {
	case 0:
		return false
	case 1:
		after = 0
	default:
		after += leastMargin << min(j.doubled, mostDoubled)
	}
	if after >= j.order.AfterStep {
		return false
	}
	j.order, j.ordered = wire.Stop{Sequence: j.next(), Stop: true, AfterStep: after}, now
	return true
}

// reached returns the step that the process has probably reached since its last report. One that names no world size may be
// of another program, whose steps take much longer, so its silence counts only for as long as a report is on its way.
func (m *process) reached(now time.Time, pace growth.Seconds) int64 {
	if m.stopped || pace <= 0 {
		return m.step
	}
	silent := now.Sub(m.at).Seconds()
	if m.worldSize <= 1 {
		silent = min(silent, float64(answerTime))
	}
	return m.step + int64(math.Ceil(silent/float64(pace)))
}
