package loop

import (
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/explain"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// division is what a policy makes of the jobs that share, in their order.
type division struct {
	grants []grant
	// next is the time to the next decision, if nothing interrupts it.
	next time.Duration
}

// grant is one job's part.
type grant struct {
	category growth.Category
	weight   float64
	share    growth.Share
	reason   string
	inputs   explain.Inputs
}

// divide asks the policy.
func (l *Loop) divide(jobs []*job, originals []pods.Requests, interrupted, rearranged bool, now time.Time) division {
	if l.config.Policy == policy.Harmless {
		return l.harmless(jobs, originals, interrupted, now)
	}
	in := flowcon.Input{Interrupted: interrupted, Interval: l.interval}
	if rearranged {
		in.Interval = l.config.Interval
	}
	for _, j := range jobs {
		in.Jobs = append(in.Jobs, l.input(j, now))
	}
	decision := flowcon.Decide(l.config.Policy, l.config.flowCon(), now, in)
	l.interval = decision.Interval
	d := division{next: decision.Interval}
	for i, g := range decision.Grants {
		d.grants = append(d.grants, grant{g.Category, g.Weight, g.Share, g.Reason, jobs[i].inputs()})
	}
	return d
}
