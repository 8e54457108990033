package node

import (
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/growth/resize"
)

// checkRefusal evaluates kubelet's answer to the job's last resize. An infeasible resize is undone. A deferred resize
// stays: kubelet retries it, and has reserved the CPU for it.
func (n *Node) checkRefusal(j *job) {
	requested, allocated := j.pod.Requests(), j.pod.Allocated()
	switch {
	case n.config.DirectWeights: // kubelet is not involved
	case j.refusal.Resolved(allocated.Sum()):
		j.refusal = resize.Refusal{}
	case !j.pod.ResizeStatus.Infeasible() || j.wanted == nil:
	case !maps.Equal(requested, j.wanted): // another client has changed the request
	case maps.Equal(requested, allocated): // the resize is being undone
	default:
		n.refuse(j, allocated, "kubelet: "+j.pod.ResizeStatus.Message)
	}
}

// refuse records a refused resize. The job keeps the request in force until the retry.
func (n *Node) refuse(j *job, inForce Requests, why string) {
	asked := j.wanted.Sum()
	j.refusal = j.refusal.Refused(asked, inForce.Sum(), n.now)
	j.wanted = inForce
	wait := j.refusal.RetryAt().Sub(n.now)
	j.refusedAs = fmt.Sprintf("A CPU request of %s was refused; it goes back to %s. It is retried in %s, or earlier if the pod or the node changes. %s",
		asked, inForce.Sum(), wait, why)
	j.decisions.SetOutcome(j.refusedAs)
	n.log(Warn, "CPU request refused", "job", j.pod.Ref, "asked", asked, "in force", inForce.Sum(), "times", j.refusal.Times,
		"wait", wait, "reason", why)
	n.event(j, time.Minute, true, "ResizeInfeasible", j.refusedAs)
	n.out.Counts.Resizes = append(n.out.Counts.Resizes, "refused")
}

// retryRefusals lets refused resizes be retried early, because the node has changed.
func (n *Node) retryRefusals() {
	for _, j := range n.jobs {
		j.refusal.Changed = true
	}
}

func refusals(jobs []*job) []resize.Refusal {
	all := make([]resize.Refusal, len(jobs))
	for i, j := range jobs {
		all[i] = j.refusal
	}
	return all
}

// resizeFailed handles a failed resize. One that the API server rejects, for example because of a quota, is treated
// like one that kubelet finds infeasible. Any other is retried in the next round.
func (n *Node) resizeFailed(j *job, e ResizeFinished) {
	if e.Result == ResizeRejected && maps.Equal(e.Resize.Requests, j.wanted) {
		n.refuse(j, j.pod.Requests(), "The API server: "+e.Err)
		return
	}
	j.decisions.SetOutcome("not enforced yet: " + e.Err)
	n.log(Warn, "a CPU share could not be enforced and will be retried", "job", e.Resize.Pod, "err", e.Err)
	n.event(j, time.Minute, true, "ResizeFailed", fmt.Sprintf("The CPU request stays %s: %s", e.Resize.From, e.Err))
}
