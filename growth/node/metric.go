package node

import (
	"fmt"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth/efficiency"
)

// evaluate adds a value of the job's metric.
func (n *Node) evaluate(j *job, value float64) {
	before := j.tracker.NotFinite()
	if j.isAgain() && finiteMetric(value) {
		j.tracker.Recover()
		n.followNotFinite(j, before, value)
		before = j.tracker.NotFinite()
		n.againFrom(j, value)
	}
	_, err := j.tracker.Report(j.counter.steps, value)
	n.followNotFinite(j, before, value)
	if err != nil {
		n.out.Counts.NotFinite++
		return
	}
	j.window.addValue(value)
	j.curve.Add(float64(j.counter.steps), value)
	n.followScale(j)
	n.followTarget(j)
	first := !j.reported
	j.value, j.reported = value, true
	if first {
		n.announceFirst(j)
		n.publish(j, false)
	}
}

func finiteMetric(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// followNotFinite records that a job's metric has become NaN or infinite for good, of which kinds its values are, and
// that it is finite again. The first and the last change the job's claim, so a decision is due.
func (n *Node) followNotFinite(j *job, before efficiency.NotFinite, value float64) {
	now := j.tracker.NotFinite()
	metric := j.spec.Metric
	switch {
	case now.Lasting && !before.Lasting:
		n.event(j, time.Minute, true, "MetricNotFinite",
			fmt.Sprintf("%s is %s since step %d, and that is not growth: %s. %s",
				metric, now.Kinds(), now.Since, n.lostClaim(j), j.cure(now)))
		n.interrupt("metric not finite", false)
	case now.Lasting && now.Kinds() != before.Kinds():
		n.event(j, 0, true, "MetricNotFinite",
			fmt.Sprintf("%s is %v at %s. It has not been finite since step %d", metric, value, j.stepText(), now.Since))
	case before.Lasting && !now.Lasting:
		n.event(j, time.Minute, false, "MetricFinite",
			fmt.Sprintf("%s is finite again, %.4g at %s, after %d values that were %s. The job's growth counts again",
				metric, value, j.stepText(), before.Reports, before.Kinds()))
		n.interrupt("metric finite", false)
	}
}

// cure says what the user of a job whose metric is not finite can do.
func (j *job) cure(lost efficiency.NotFinite) string {
	if !j.reported {
		return "It has had no finite value: check the job's data and its learning rate, and start it again"
	}
	return fmt.Sprintf("Its last finite value was %.4g: stop the job, or let it continue from a checkpoint before step %d", j.value, lost.Since)
}

// valueText names the last value of a job's metric.
func (j *job) valueText() string {
	if lost := j.tracker.NotFinite(); lost.Lasting {
		return fmt.Sprintf("%s %s", j.spec.Metric, lost.Kinds())
	}
	return fmt.Sprintf("%s %.4g", j.spec.Metric, j.value)
}
