package loop

import (
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// heed takes in what kubelet makes of the requests that stand. One that it defers is left to it: it tries again by
// itself when there is room, and its books keep the room for it. One that can not be goes back to what is in force.
func (l *Loop) heed(j *job, now time.Time) {
	asked, given := j.pod.Requests(), j.pod.InForce()
	switch {
	case l.config.Direct: // kubelet was not asked
	case j.refusal.Resolved(given.Sum()):
		j.refusal = resize.Refusal{}
	case !j.pod.Refusal.Infeasible() || j.want == nil || !maps.Equal(asked, j.want) || maps.Equal(asked, given):
		// Nothing was refused, or somebody else's request, or it is on its way back.
	default:
		l.refuse(j, given, "kubelet: "+j.pod.Refusal.Message, now)
	}
}

// refuse gives up for now what was asked for a job, and leaves it with what is in force.
func (l *Loop) refuse(j *job, inForce pods.Requests, why string, now time.Time) {
	asked := j.want.Sum()
	j.refusal = j.refusal.Refused(asked, inForce.Sum(), now)
	j.want = inForce
	wait := j.refusal.RetryAt().Sub(now)
	j.refusedAs = fmt.Sprintf("A CPU request of %s can not be, it goes back to %s. Until the pod or the node changes, or for %s, it is not asked for again. %s", asked, inForce.Sum(), wait, why)
	j.decisions.Outcome(j.refusedAs)
	l.log.Warn("a CPU request can not be", "job", j.pod.Ref.String(), "asked", asked.String(), "in force", inForce.Sum().String(), "times", j.refusal.Times, "wait", wait.String(), "reason", why)
	l.tell(j, time.Minute, true, "ResizeInfeasible", j.refusedAs)
	l.metrics.Resizes.WithLabelValues("refused").Inc()
}

// stir tells all jobs that were refused something that the node has changed.
func (l *Loop) stir() {
	for _, j := range l.jobs {
		j.refusal.Changed = true
	}
}

// refusals are those of jobs, in their order. Where weights are written directly nobody can refuse anything.
func refusals(jobs []*job) []resize.Refusal {
	all := make([]resize.Refusal, len(jobs))
	for i, j := range jobs {
		all[i] = j.refusal
	}
	return all
}

// another tells that a pod is not what it was, but for its requests, which are ours to change, and what is said of it.
func another(before, now pods.Pod) bool {
	if len(before.Containers) != len(now.Containers) {
		return true
	}
	for i, c := range now.Containers {
		was := before.Containers[i]
		if was.Name != c.Name || was.Limit != c.Limit || was.ID != c.ID {
			return true
		}
	}
	return false
}

// failed takes in that a request could not be changed. What the API server will not have, by a quota say, is as what kubelet
// can not do; everything else is tried again.
func (l *Loop) failed(j *job, r enforce.Result, now time.Time) {
	if r.Refused() && maps.Equal(r.Target.Requests, j.want) {
		l.refuse(j, j.pod.Requests(), fmt.Sprintf("The API server: %v", r.Err), now)
		return
	}
	j.decisions.Outcome(fmt.Sprintf("not enforced yet: %v", r.Err))
	l.log.Warn("a CPU share could not be enforced; it will be tried again", "job", r.Target.Pod.String(), "reason", r.Err)
	l.tell(j, time.Minute, true, "ResizeFailed", fmt.Sprintf("The CPU request stays %s: %v", r.Target.From, r.Err))
}
