package node

import (
	"fmt"
	"math"
	"time"
)

const (
	// startPart is the part of a job's steps that counts as their beginning. A job whose step goes back to there starts
	// over, even if its metric is close to the curve.
	startPart = 0.01
	// resumeJitter and resumeGained bound the distance of a resumed metric from the known curve: in units of the usual
	// difference between two reports, and as a fraction of the improvement at that step.
	resumeJitter = 5
	resumeGained = 0.2
)

// againFrom recognises a job whose step has gone back, or whose container has restarted. It either starts over or
// continues from a checkpoint. The event names a restart of the container; otherwise why is empty.
func (n *Node) againFrom(j *job, value float64) {
	step, reached, why := j.counter.steps, j.tracker.State().Step, j.restartedBy
	j.restartedBy = ""
	switch expected, ok := j.continues(value); {
	case ok:
		n.resumeCheckpoint(j, why, reached, expected, value)
	case why != "":
		j.tracker.Restart()
		n.restart(j, why)
	case step < reached:
		j.tracker.Restart()
		n.restart(j, "its step went backwards")
	}
	j.hasMoved = false
}

// awaitValue lets the next value of the metric decide whether a restarted job starts over. A job without a curve does.
func (n *Node) awaitValue(j *job, why string) {
	j.tracker.Recover()
	if len(j.curve.Points) > 0 && !j.lifetime.counted {
		j.restartedBy = why
		return
	}
	j.tracker.Restart()
	n.restart(j, why)
}

// isAgain reports whether the next value of the metric is the first one after a restart.
func (j *job) isAgain() bool { return j.restartedBy != "" || j.counter.steps < j.tracker.State().Step }

// continues reports whether a value is close to that of the job's curve at the same step, which is expected. At the
// beginning of the curve, a new job has that value too.
func (j *job) continues(value float64) (expected float64, ok bool) {
	step, history := float64(j.counter.steps), j.tracker.State()
	expected, spread, ok := j.curve.At(step)
	if !ok || step <= max(j.curve.Points[0].Step, startPart*float64(history.Step)) {
		return expected, false
	}
	first := expected
	if j.curve.First != nil {
		first = *j.curve.First
	}
	distance := math.Abs(value - expected)
	bound := resumeJitter*history.Jitter + resumeGained*math.Abs(expected-first)
	if distance <= bound {
		return expected, true
	}
	// Between two points that are far apart the curve is uncertain: the value must not suit a new job as well.
	return expected, distance <= bound+spread && distance < math.Abs(value-first)/2
}

// resumeCheckpoint lets a job continue from an earlier step. Its curve up to there, category and weight stay.
func (n *Node) resumeCheckpoint(j *job, why string, reached int64, expected, value float64) {
	step := j.counter.steps
	j.tracker.ResumeAt(step, value)
	j.curve.Truncate(float64(step))
	j.recheckTarget()
	j.restarted = true
	if why == "" {
		why = fmt.Sprintf("its step went back from %d to %d", reached, step)
	}
	n.log(Info, "job resumed", "job", j.pod.Ref, "reason", why, "step", step, "reached", reached, "value", value, "expected", expected)
	stays := "Its curve up to there, its category and its share stay"
	if j.hasMoved {
		stays = "Its curve up to there and its category stay"
	}
	n.event(j, time.Minute, false, "JobResumed",
		fmt.Sprintf("The job continues from a checkpoint: %s, and %s is %.4g at step %d, where it was about %.4g before. %s",
			why, j.spec.Metric, value, step, expected, stays))
}
