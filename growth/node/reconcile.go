package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/resize"
)

// reconcile requests a resize for every job whose request is not the decided one, if the change is large enough. It
// runs after a decision and in each round, so that a resize that failed is repeated.
func (n *Node) reconcile() {
	var jobs []*job
	var changes []resize.Change
	for _, j := range n.sorted() {
		n.checkRefusal(j)
		if j.wanted == nil || !j.tunable() {
			continue
		}
		now := n.effective(j)
		jobs = append(jobs, j)
		changes = append(changes, resize.Change{
			From:     now.Sum(),
			To:       j.wanted.Sum(),
			Distance: now.Distance(j.wanted),
			Exact:    !n.resizedBefore(j) || j.pod.ResizeStatus.Infeasible(),
		})
	}
	var resizes []Resize
	for i, made := range resize.Select(n.pool, changes) {
		c := changes[i]
		if made {
			resizes = append(resizes, n.resize(jobs[i], c))
		} else if c.Distance > 0 {
			jobs[i].decisions.SetOutcome(fmt.Sprintf("the request stays %s: %s is too little of a change", c.From, c.To))
		}
	}
	if len(resizes) > 0 {
		n.out.Resizes = resizes
	}
}

func (n *Node) resize(j *job, c resize.Change) Resize {
	r := Resize{
		Pod:      j.pod.Ref,
		From:     c.From,
		To:       c.To,
		Requests: j.wanted,
		Share:    j.share,
	}
	if original, preserved := j.pod.Original(); !preserved && !n.config.DirectWeights {
		r.Original = j.pod.FormatRequests(original)
	}
	return r
}

// resizedBefore reports whether the job's request comes from a decision, and not from the pod's creation.
func (n *Node) resizedBefore(j *job) bool {
	if n.config.DirectWeights {
		return j.enforced != nil
	}
	_, preserved := j.pod.Original()
	return preserved
}

// effective is what the job's weight corresponds to, now or as soon as kubelet has resized the pod: its requests, or
// the weight written to its cgroup, unless another program has changed it since.
func (n *Node) effective(j *job) Requests {
	if n.config.DirectWeights && j.enforced != nil && j.usage.Weight == j.readBack {
		return j.enforced
	}
	return j.pod.Requests()
}

func (e ResizeFinished) apply(n *Node) {
	j := n.jobs[e.Resize.Pod.UID]
	result := "unverified"
	switch {
	case e.Result == ResizeGone || (e.Result != ResizeAccepted && j == nil):
		result = "gone"
	case e.Result != ResizeAccepted:
		result = "failed"
		n.resizeFailed(j, e)
	default:
		if e.Verified {
			result = "verified"
		}
		if j != nil {
			n.resized(j, e)
		}
	}
	n.out.Counts.Resizes = append(n.out.Counts.Resizes, result)
}

func (n *Node) resized(j *job, e ResizeFinished) {
	r := e.Resize
	j.usage.Weight = e.Weight
	j.enforced, j.readBack = r.Requests, e.Weight
	n.log(Info, "CPU share enforced", "job", r.Pod, "from", r.From, "to", r.To, "weight", e.Weight, "verified", e.Verified)
	read := fmt.Sprintf("its cgroup's weight is %d", e.Weight)
	if !e.Verified {
		read = fmt.Sprintf("kubelet has not applied it yet, its cgroup's weight is still %d", e.Weight)
	}
	j.decisions.SetOutcome(fmt.Sprintf("request %s → %s: %s", r.From, r.To, read))
	n.event(j, time.Second, false, "CPUShareChanged",
		fmt.Sprintf("CPU request %s → %s, %s of the node's pool: %s", r.From, r.To, r.Share, read))
	n.publish(j, false)
}
