package node

import (
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/growth/resize"
)

const (
	// refusalPeriod is the time between two events about refusals for the same cause.
	refusalPeriod = time.Hour
	// pendingTime is the time after which a deferred resize is reported.
	pendingTime = 5 * time.Second
	// quotaPatience is the time in which an increase that a quota refuses is retried each round. The quota's usage falls
	// only after kubelet has applied the decreases of other pods.
	quotaPatience = 30 * time.Second
)

// objection is a reason why a resize was refused or had no effect.
type objection struct {
	// by identifies what objects. Events about the same objector are recorded once per refusalPeriod.
	by string
	// outcome is what happens to the request, why a sentence for users.
	outcome, why string
	// any is set if neither an increase nor a decrease has an effect.
	any bool
}

// checkRefusal evaluates kubelet's answer to the job's last resize. An infeasible resize is undone. A deferred resize
// stays: kubelet retries it, and has reserved the CPU for it.
func (n *Node) checkRefusal(j *job) {
	requested, allocated := j.pod.Requests(), j.pod.Allocated()
	switch {
	case n.config.DirectWeights: // kubelet is not involved
	case j.refusal.Resolved(j.pod.Total(allocated)):
		j.refusal = resize.Refusal{}
	case j.pod.ResizeStatus.Reason != "" && !j.pod.ResizeStatus.Infeasible():
		n.reportPending(j)
	case !j.pod.ResizeStatus.Infeasible() || j.wanted == nil:
	case !maps.Equal(requested, j.wanted): // another client has changed the request
	case maps.Equal(requested, allocated): // the resize is being undone
	default:
		n.refuse(j, allocated, objection{by: "kubelet", outcome: "goes back to", why: "kubelet: " + j.pod.ResizeStatus.Message})
	}
}

// reportPending records an event about a resize that kubelet has deferred for some time. A shorter delay is normal: the
// decreases of other pods take effect first.
func (n *Node) reportPending(j *job) {
	if n.now.Sub(j.pendingSince) < pendingTime {
		return
	}
	status := j.pod.ResizeStatus
	n.event(j, refusalPeriod, true, "Resize"+status.Reason,
		fmt.Sprintf("kubelet has not applied the CPU resize to %s yet: %s", j.pod.Total(j.pod.Requests()), status.Message))
}

// refuse records a refused resize. The job keeps the request in force until the retry.
func (n *Node) refuse(j *job, inForce Requests, o objection) {
	asked, kept := j.wantedTotal(), j.pod.Total(inForce)
	j.refusal = j.refusal.Refused(asked, kept, n.now)
	j.refusal.Any = o.any
	j.wanted = inForce
	wait := j.refusal.RetryAt().Sub(n.now)
	j.refusedAs = fmt.Sprintf("A CPU request of %s was refused; it %s %s. It is retried in %s, or earlier if the pod or the node changes. %s",
		asked, o.outcome, kept, wait, o.why)
	j.decisions.SetOutcome(j.refusedAs)
	n.log(Warn, "CPU request refused", "job", j.pod.Ref, "asked", asked, "in force", kept, "times", j.refusal.Times,
		"wait", wait, "reason", o.why)
	period := refusalPeriod
	if o.by != j.refusedBy {
		period = time.Minute
	}
	j.refusedBy = o.by
	n.event(j, period, true, "ResizeInfeasible", j.refusedAs)
	n.out.Counts.Resizes = append(n.out.Counts.Resizes, "refused")
}

// retryRefusals lets refused resizes be retried early, because the node has changed.
func (n *Node) retryRefusals() {
	for _, j := range n.jobs {
		j.refusal.Changed = true
	}
}

// resizeFailed handles a failed resize. One that the API server rejects, for example because of a LimitRange, is treated
// like one that kubelet finds infeasible. Any other is retried in the next round.
func (n *Node) resizeFailed(j *job, e ResizeFinished) {
	current := maps.Equal(e.Resize.Requests, j.wanted)
	switch {
	case e.Result == ResizeOverQuota && current:
		n.overQuota(j, e)
		return
	case e.Result == ResizeRejected && current:
		n.refuse(j, j.pod.Requests(), objection{by: "API server", outcome: "stays", why: "The API server: " + e.Err})
		return
	}
	j.decisions.SetOutcome("not enforced yet: " + e.Err)
	n.log(Warn, "a CPU share could not be enforced and will be retried", "job", e.Resize.Pod, "err", e.Err)
	n.event(j, time.Minute, true, "ResizeFailed", fmt.Sprintf("The CPU request stays %s: %s", e.Resize.From, e.Err))
}

// overQuota handles an increase that a quota forbids. At first this may be a matter of order: CPU that another pod has
// released counts until kubelet has applied its decrease.
func (n *Node) overQuota(j *job, e ResizeFinished) {
	if j.quotaFull.IsZero() {
		j.quotaFull = n.now
	}
	if j.refusal.Times == 0 && n.now.Sub(j.quotaFull) < quotaPatience {
		j.decisions.SetOutcome(fmt.Sprintf("not enforced yet: quota %s is used up", e.Quota))
		n.log(Info, "a quota is used up, the resize is retried in the next round", "job", e.Resize.Pod, "quota", e.Quota, "err", e.Err)
		return
	}
	n.refuse(j, j.pod.Requests(), objection{by: "quota " + e.Quota, outcome: "stays", why: fmt.Sprintf(
		"Quota %s of namespace %s is used up: raise its requests.cpu, or let other pods of the namespace request less. %s",
		e.Quota, e.Resize.Pod.Namespace, e.Err)})
}
