package node

import (
	"cmp"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/resize"
)

const (
	// minRequest is the smallest CPU request of a job, and the smallest one that maps to a distinct cgroup weight. It
	// is no larger, because the minimum share of a waiting job is the policy's decision.
	minRequest growth.MilliCPU = 2
	// maxDelay bounds the time between two decisions when the policy sets no bound.
	maxDelay = 365 * 24 * time.Hour
)

// decide divides the time of GPUs, and the CPU pool among the jobs that share it. The pool is the sum of the CPU requests with which they were
// created, unless other pods have taken a part of it.
func (n *Node) decide() {
	why, rearranged := cmp.Or(n.interrupted, "interval"), n.rearranged
	n.interrupted, n.rearranged = "", false
	if rearranged {
		n.endsEstimated = time.Time{}
	}

	// 1. Collect the jobs and the pool.
	n.formGangs()
	jobs, originals := n.sharers()
	pool := growth.MilliCPU(0)
	for i, j := range jobs {
		pool += j.pod.Total(originals[i])
	}
	pool = n.available(jobs, pool-n.keptByEnded())
	jobs, originals, pool = n.parkPaused(jobs, originals, pool)
	n.pool = pool

	// 2. Compute the shares.
	onGPUs := n.decideGPUs(why, rearranged)
	d := n.divide(jobs, originals, why != "interval", rearranged)
	equalise(jobs, d.grants)
	n.finished = nil
	next := min(d.next, onGPUs, maxDelay)
	n.due = n.now.Add(next)

	// 3. Turn shares into CPU requests.
	claims := make([]resize.Claim, len(jobs))
	for i, grant := range d.grants {
		claims[i] = resize.Claim{
			Share:   grant.share,
			Minimum: jobs[i].pod.minimum(),
			Refusal: jobs[i].refusal,
		}
	}
	requests, left := resize.Divide(claims, pool, n.now)
	if requests == nil {
		n.log(Warn, "the CPU pool is too small to divide: requests stay", "pool", pool, "jobs", len(jobs))
	}
	n.pool = left
	for i, grant := range d.grants {
		j := jobs[i]
		n.grant(j, grant, why)
		if requests != nil {
			j.wanted = j.pod.Divide(j.pod.appsFor(requests[i]), originals[i])
		}
		if j.refusal.Active(n.now) {
			j.decisions.SetOutcome(j.refusedAs)
		}
	}

	// 4. Enforce the requests.
	n.setWake()
	n.reconcile()
}

// setWake lets the node be woken for its next decision. Normally a tick comes first, with newer readings.
func (n *Node) setWake() {
	n.wake = n.due.Add(n.config.Damping.Settle)
	if !n.probesDue.IsZero() && n.probesDue.Before(n.wake) {
		n.wake = n.probesDue
	}
}

// sharers returns the jobs whose CPU is divided, and their original requests. A job that has left the pool has no share
// of it.
func (n *Node) sharers() (jobs []*job, originals []Requests) {
	for _, j := range n.sorted() {
		if !j.tunable() || j.pod.Ended() {
			j.lifetime.hold(j.share, n.now)
			j.share = 0
			continue
		}
		jobs = append(jobs, j)
		originals = append(originals, j.original())
	}
	return jobs, originals
}

// grant applies a decision to one job.
func (n *Node) grant(j *job, g grant, why string) {
	n.log(Info, "decided", "job", j.pod.Ref, "policy", n.config.Policy, "because", why,
		"growth", float64(j.reading.Growth), "raw", float64(j.reading.Raw), "samples", j.reading.Samples, "category", g.category,
		"from", j.share, "to", g.share, "reason", g.reason)
	j.decisions.Add(Decision{
		At:      n.now,
		Policy:  n.config.Policy,
		Because: why,
		Inputs:  g.inputs,
		From:    j.share,
		To:      g.share,
		Reason:  g.reason,
	})
	j.lifetime.hold(j.share, n.now)
	if math.Abs(float64(g.share-j.share)) > 1e-9 {
		j.changed = n.now
	}
	j.share, j.weight = g.share, g.weight
	if g.category != j.category { // only flowcon-literal changes categories
		n.categorise(j, g.category, g.reason)
		n.interrupted = "" // this decision has used the new category
	}
}
