package loop

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/enforce"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// reconcile asks for every request that is not what it should be, as far as that is worth it: after a decision, and each
// round for what an earlier attempt did not bring about.
func (l *Loop) reconcile() {
	var jobs []*job
	var changes []resize.Change
	for _, j := range l.sorted() {
		l.heed(j, time.Now())
		if j.want == nil || !j.tunable() {
			continue
		}
		now := l.stands(j)
		jobs, changes = append(jobs, j), append(changes, resize.Change{
			From: now.Sum(), To: j.want.Sum(), Distance: now.Apart(j.want), Exact: !l.resizedBefore(j) || j.pod.Refusal.Infeasible(),
		})
	}
	var targets []enforce.Target
	for i, made := range resize.Select(l.pool, changes) {
		switch c := changes[i]; {
		case made:
			targets = append(targets, l.target(jobs[i], c))
		case c.Distance > 0:
			jobs[i].decisions.Outcome(fmt.Sprintf("the request stays %s: %s is too little of a change", c.From, c.To))
		}
	}
	if len(targets) > 0 {
		l.ports.Enforcer.Enforce(targets)
	}
}

func (l *Loop) target(j *job, c resize.Change) enforce.Target {
	t := enforce.Target{Pod: j.pod.Ref, From: c.From, To: c.To, Requests: j.want, Share: j.share}
	if original, kept := j.pod.Original(); !kept && !l.config.Direct {
		t.Keep = j.pod.Kept(original)
	}
	return t
}

// resizedBefore tells whether what a job has is what some decision gave it, and not what it was made with.
func (l *Loop) resizedBefore(j *job) bool {
	if l.config.Direct {
		return j.weighed != nil
	}
	_, kept := j.pod.Original()
	return kept
}

// stands is what a job's weight stands for, or will when kubelet has made it so: its requests, or what was written into
// its cgroup last, unless somebody has written something else since.
func (l *Loop) stands(j *job) pods.Requests {
	if l.config.Direct && j.weighed != nil && j.usage.Weight == j.weighedAs {
		return j.weighed
	}
	return j.pod.Requests()
}

// resized tells what became of a resize.
func (l *Loop) resized(r enforce.Result) {
	j := l.jobs[r.Target.Pod.UID]
	result := map[bool]string{true: "verified", false: "unverified"}[r.Verified]
	switch {
	case r.Err != nil && (r.Gone() || j == nil):
		result = "gone"
	case r.Err != nil:
		result = "failed"
		l.failed(j, r, time.Now())
	case j != nil:
		j.usage.Weight = r.Weight
		j.weighed, j.weighedAs = r.Target.Requests, r.Weight
		l.log.Info("CPU share enforced", "job", r.Target.Pod.String(), "from", r.Target.From.String(), "to", r.Target.To.String(), "weight", r.Weight, "verified", r.Verified)
		read := fmt.Sprintf("its cgroup's weight is %d", r.Weight)
		if !r.Verified {
			read = fmt.Sprintf("kubelet has not applied it yet, its cgroup's weight is still %d", r.Weight)
		}
		j.decisions.Outcome(fmt.Sprintf("request %s → %s: %s", r.Target.From, r.Target.To, read))
		l.tell(j, time.Second, false, "CPUShareChanged", fmt.Sprintf("CPU request %s → %s, %s of the node's pool: %s", r.Target.From, r.Target.To, r.Target.Share, read))
		l.publishJob(j)
	}
	l.metrics.Resizes.WithLabelValues(result).Inc()
}
