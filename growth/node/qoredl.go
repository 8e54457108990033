package node

import (
	"fmt"
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// qoreDL applies policy.QoreDL to the CPU.
func (n *Node) qoreDL(jobs []*job) division {
	capacity, used := n.capacity().Cores(), 0.0
	sharers, inputs := make([]deadline.Sharer, len(jobs)), make([]Inputs, len(jobs))
	for i, j := range jobs {
		sharers[i], inputs[i] = n.sharer(j, capacity)
		sharers[i].Share = j.share
		sharers[i].Limit = growth.Share(j.pod.Limit().Cores() / capacity)
		used += j.used.Cores()
	}
	return n.adjusted(jobs, sharers, inputs, growth.Share(used/capacity))
}

// qoreDLOnGPUs applies policy.QoreDL to the time of a group of GPUs.
func (n *Node) qoreDLOnGPUs(g gpuGroup) division {
	used := 0.0
	jobs := make([]*job, len(g.jobs))
	sharers, inputs := make([]deadline.Sharer, len(g.jobs)), make([]Inputs, len(g.jobs))
	for i, j := range g.jobs {
		jobs[i] = j.job
		sharers[i], inputs[i] = n.sharer(j.job, float64(len(j.gpus)))
		sharers[i].Share, sharers[i].Limit = growth.Share(j.gpu.weight), j.limit()
		inputs[i].onGPU(j.gpu)
		used += j.gpu.rate.Cores()
	}
	d := n.adjusted(jobs, sharers, inputs, growth.Share(used/float64(len(g.gpus))))
	weights := make([]float64, len(g.jobs))
	for i := range d.grants {
		weights[i] = d.grants[i].weight
		if g.jobs[i].always > 0 {
			weights[i] = 1e6 // it takes its limit, and not what the policy gives it
		}
	}
	for i, share := range fairfinish.LimitedTimeShares(weights, g.limits(), g.placement()) {
		d.grants[i].share = share
	}
	return d
}

// sharer returns a job as package deadline sees it, without its share of the resource, and its inputs. capacity is how much of the
// resource the job could have alone.
func (n *Node) sharer(j *job, capacity float64) (deadline.Sharer, Inputs) {
	lead := j.leader()
	f := n.forecast(lead)
	s := deadline.Sharer{Name: string(j.pod.Ref.UID), ToDeadline: growth.Seconds(math.Inf(1))}
	work := f.remaining
	if d := lead.userDeadline(f); !d.At.IsZero() {
		work, s.ToDeadline = d.Work, growth.Seconds(d.At.Sub(n.now).Seconds())
	}
	work = work.In(n.unit())
	switch {
	case lead.targetReached(): // nothing is left that counts
		s.Known = true
	case fairfinish.Sized(work):
		s.Known = true
		s.Work = deadline.Interval{
			Low:    growth.Seconds(float64(work.Low) / capacity),
			Likely: growth.Seconds(float64(work.Likely) / capacity),
			High:   growth.Seconds(float64(work.High) / capacity),
		}
	}
	in := j.inputs()
	in.Remaining, in.ToTarget = f.remaining, f.toTarget
	return s, in
}

// adjusted divides a resource by the four cases of package deadline.
func (n *Node) adjusted(jobs []*job, sharers []deadline.Sharer, inputs []Inputs, load growth.Share) division {
	d := deadline.Divide(deadline.PaperBands(), load, sharers)
	reasons := map[string]string{}
	for _, c := range d.Grow {
		reasons[c.Job.Name] = "it grows, " + changeText(c, "gains")
	}
	for _, c := range d.Shrink {
		reasons[c.Job.Name] = "it gives way, " + changeText(c, "loses")
	}
	out := division{next: n.config.Interval}
	for i, share := range d.Shares {
		reason := reasons[sharers[i].Name]
		switch {
		case reason == "" && !sharers[i].Known:
			reason = "its size is unknown, so it neither grows nor gives way"
		case reason == "":
			reason = "it shares what the others leave"
		}
		out.grants = append(out.grants, grant{
			category: jobs[i].category,
			weight:   float64(share),
			share:    share,
			reason:   fmt.Sprintf("%s, %s: %s", d.Case, load, reason),
			inputs:   inputs[i],
		})
	}
	return out
}

// changeText explains a change of a job's share.
func changeText(c deadline.Change, verb string) string {
	if c.Degree.Late() && !math.IsInf(float64(c.Degree.High), 0) {
		return "as it would be " + c.Degree.String()
	}
	return fmt.Sprintf("as it %s %s with 1%% of the resource", verb, deadline.Rough(growth.Seconds(c.Sensitivity/100)))
}

// servesDeadlines reports whether a policy divides with regard to the deadlines of users.
func servesDeadlines(p policy.Name) bool { return p == policy.Harmless || p == policy.QoreDL }
