package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// reconcile requests a resize for each job whose request differs enough from the decided one. It runs after each
// decision and in each round, so failed resizes are retried.
func (n *Node) reconcile() {
	var jobs []*job
	var changes []resize.Change
	for _, j := range n.sorted() {
		n.checkRefusal(j)
		n.checkEffect(j)
		if n.returnsCPU(j) {
			j.wanted = j.original()
		} else if j.wanted == nil || !j.tunable() {
			continue
		}
		now := n.effective(j)
		jobs = append(jobs, j)
		changes = append(changes, resize.Change{
			From:     j.pod.Total(now),
			To:       j.pod.Total(j.wanted),
			Distance: now.Distance(j.wanted),
			Exact:    !n.resizedBefore(j) || j.pod.ResizeStatus.Infeasible(),
		})
	}
	var resizes []Resize
	selected := resize.Select(n.pool, changes)
	for i, c := range changes {
		if !selected[i] && c.Distance > 0 {
			jobs[i].decisions.SetOutcome(fmt.Sprintf("the request stays %s: a change to %s is too small", c.From, c.To))
		}
	}
	n.fit(jobs, changes, selected)
	for i, made := range selected {
		if made {
			resizes = append(resizes, n.resize(jobs[i], changes[i]))
		}
	}
	if len(resizes) > 0 {
		n.out.Resizes = resizes
	}
}

// returnsCPU reports whether a job gets back the request with which it was created, because its user has taken cpu out of
// gpushare/tune since.
func (n *Node) returnsCPU(j *job) bool {
	return !j.spec.Allows(gpushare.TuneCPU) && j.pod.Fixed == "" && j.yielded == nil && !j.pod.Ended() && n.resizedBefore(j)
}

func (n *Node) resize(j *job, c resize.Change) Resize {
	r := Resize{
		Pod:      j.pod.Ref,
		From:     c.From,
		To:       c.To,
		Before:   n.effective(j),
		Requests: j.wanted,
		Share:    j.share,
	}
	if _, preserved := j.pod.Original(); !preserved && !n.config.DirectWeights {
		r.Original = j.pod.FormatRequests(j.original())
	}
	j.writes.add(j.wanted)
	return r
}

// resizedBefore reports whether the job's request is the result of an earlier decision.
func (n *Node) resizedBefore(j *job) bool {
	if n.config.DirectWeights {
		return j.enforced != nil
	}
	_, preserved := j.pod.Original()
	return preserved
}

// effective returns the requests to which the job's weight corresponds, now or once kubelet has applied them. With
// DirectWeights these are the last written ones, unless another process has changed the cgroup since.
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
	case e.Result == ResizeConflict:
		result = "conflict"
		n.resizeConflict(j, e)
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
	j.quotaFull = time.Time{}
	n.observeEffect(j, e)
	n.log(Info, "CPU share enforced", "job", r.Pod, "from", r.From, "to", r.To, "weight", e.Weight, "verified", e.Verified)
	read := fmt.Sprintf("its cgroup's weight is %d", e.Weight)
	if !e.Verified {
		read = fmt.Sprintf("kubelet has not applied it yet, its cgroup's weight is still %d", e.Weight)
	}
	j.decisions.SetOutcome(fmt.Sprintf("request %s → %s: %s", r.From, r.To, read))
	n.reportShare(j, r, read)
	n.publish(j, false)
}
