package node

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// silentAfter is the number of intervals in which a job must make its first two reports.
const silentAfter = 3

// division is a policy's decision about the jobs that share, in their order.
type division struct {
	grants []grant
	// next is the time until the next decision, unless it is interrupted.
	next time.Duration
}

// grant is a policy's decision about one job.
type grant struct {
	category growth.Category
	weight   float64
	share    growth.Share
	reason   string
	inputs   Inputs
}

// divide applies the configured policy. Where the time of GPUs is divided, the CPU is not.
func (n *Node) divide(jobs []*job, originals []Requests, interrupted, rearranged bool) division {
	if n.dividesGPUs() {
		return n.keepRequests(jobs, originals)
	}
	switch n.config.Policy {
	case policy.Harmless:
		return n.harmless(jobs, originals, interrupted)
	case policy.QoreDL:
		return n.qoreDL(jobs)
	}
	in := flowcon.Input{Interrupted: interrupted, Interval: n.interval}
	if rearranged {
		in.Interval = n.config.Interval
	}
	for _, j := range jobs {
		in.Jobs = append(in.Jobs, n.flowConJob(j))
	}
	decision := flowcon.Decide(n.config.Policy, n.config.flowCon(), n.now, in)
	n.interval = decision.Interval
	d := division{next: decision.Interval}
	for i, g := range decision.Grants {
		d.grants = append(d.grants, grant{
			category: g.Category,
			weight:   g.Weight,
			share:    g.Share,
			reason:   g.Reason,
			inputs:   jobs[i].inputs(),
		})
	}
	return d
}

func (n *Node) flowConJob(j *job) flowcon.Job {
	if _, preserved := j.pod.Original(); preserved && j.weight == 0 && n.pool > 0 {
		j.weight = float64(j.pod.Total(j.pod.Allocated())) / float64(n.pool) // decided by an earlier coordinator
	}
	in := flowcon.Job{
		ID:        j.pod.Ref.UID,
		Samples:   j.reading.Samples,
		Growth:    j.reading.Growth,
		Raw:       j.reading.Raw,
		Category:  j.category,
		Silent:    n.now.Sub(j.arrived) > silentAfter*n.config.Interval,
		FloorOnly: j.leader().nothingToGain(),
		Weight:    j.weight,
		Share:     j.share,
		Changed:   j.changed,
	}
	if in.FloorOnly {
		in.Growth, in.Raw = 0, 0 // the last reading may be older
	}
	return in
}
