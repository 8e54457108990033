package loop

import (
	"cmp"
	"math"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/resize"
)

const (
	// leastRequest is the smallest CPU request a job is given, and the smallest that the kernel tells from less. What a job
	// that waits must have is the policy's to say: ten of them at a hundredth of a core would cost a one-core node a tenth.
	leastRequest growth.MilliCPU = 2
	// silentAfter is how many intervals a job has for its first two reports.
	silentAfter = 3
	// furthest is the longest a decision can be put off, for a policy that knows no bound.
	furthest = 365 * 24 * time.Hour
)

// decide divides the pool anew.
func (l *Loop) decide(now time.Time) {
	why, rearranged := cmp.Or(l.interrupted, "interval"), l.rearrange
	l.interrupted, l.rearrange = "", false

	// 1. Who shares, and what.
	jobs, originals := l.sharers()
	pool := growth.MilliCPU(0)
	for _, original := range originals {
		pool += original.Sum()
	}
	l.pool = pool

	// 2. The shares.
	d := l.divide(jobs, originals, why != "interval", rearranged, now)
	next := min(d.next, furthest)
	l.due = now.Add(next)

	// 3. What they come to.
	shares := make([]growth.Share, len(jobs))
	for i, grant := range d.grants {
		shares[i] = grant.share
	}
	requests, left := resize.Divide(shares, refusals(jobs), pool, leastRequest, now)
	if requests == nil {
		l.log.Warn("the CPU pool is too small to divide: requests stay", "pool", pool.String(), "jobs", len(jobs))
	}
	l.pool = left
	for i, grant := range d.grants {
		l.grant(jobs[i], grant, why, now)
		if requests != nil {
			jobs[i].want = jobs[i].pod.Divide(requests[i], originals[i])
		}
		if jobs[i].refusal.Active(now) {
			jobs[i].decisions.Outcome(jobs[i].refusedAs)
		}
	}

	// 4. Make it so.
	l.soon.Reset(next + settle) // a tick about then has the later readings
	l.reconcile()
	l.gate(jobs)
}

// sharers are the jobs whose CPU is divided, and what they were made with.
func (l *Loop) sharers() (jobs []*job, originals []pods.Requests) {
	for _, j := range l.sorted() {
		if j.tunable() {
			original, _ := j.pod.Original()
			jobs, originals = append(jobs, j), append(originals, original)
		}
	}
	return jobs, originals
}

func (l *Loop) input(j *job, now time.Time) flowcon.Job {
	if _, kept := j.pod.Original(); kept && j.weight == 0 && l.pool > 0 {
		j.weight = float64(j.pod.InForce().Sum()) / float64(l.pool) // what an earlier coordinator left it
	}
	return flowcon.Job{
		ID: j.pod.Ref.UID, Samples: j.reading.Samples, Growth: j.reading.Growth, Raw: j.reading.Raw, Category: j.category,
		Silent: now.Sub(j.arrived) > silentAfter*l.config.Interval,
		Weight: j.weight, Share: j.share, Changed: j.changed,
	}
}

// grant notes what was decided for one job, with what it was decided on.
func (l *Loop) grant(j *job, g grant, why string, now time.Time) {
	l.log.Info("decided", "job", j.pod.Ref.String(), "policy", l.config.Policy, "because", why,
		"growth", float64(j.reading.Growth), "raw", float64(j.reading.Raw), "samples", j.reading.Samples, "category", g.category,
		"from", j.share.String(), "to", g.share.String(), "reason", g.reason)
	j.decisions.Add(explain.Decision{At: now, Policy: l.config.Policy, Because: why, Inputs: g.inputs, From: j.share, To: g.share, Reason: g.reason})
	if math.Abs(float64(g.share-j.share)) > 1e-9 {
		j.changed = now
	}
	j.share, j.weight = g.share, g.weight
	if g.category != j.category { // the literal policy's own lists
		l.categorise(j, g.category, g.reason)
		l.interrupted = "" // decided already
	}
}
