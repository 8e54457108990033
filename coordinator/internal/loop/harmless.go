package loop

import (
	"math"
	"time"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

const (
	// leastCapacity is what the node is thought to have for its sharers, whatever others use.
	leastCapacity = growth.Core / 10
	// stir is the least change of a share that is made without an interruption.
	stir growth.Share = 0.02
)

// harmless divides by package fairfinish, whose State goes from decision to decision.
func (l *Loop) harmless(jobs []*job, originals []pods.Requests, interrupted bool, now time.Time) division {
	in, foreseen := make([]fairfinish.Job, len(jobs)), make([]outlook, len(jobs))
	for i, j := range jobs {
		l.meter(j, now)
		o := l.foresee(j)
		foreseen[i] = o
		in[i] = fairfinish.Job{
			ID: j.pod.Ref.UID, Used: growth.CoreSeconds(j.usage.CPU), CPUWait: j.usage.Queued, CPUWaitKnown: j.usage.QueuedKnown,
			Remaining: o.left, ToTarget: o.need, TargetFromSimilar: o.foretold,
			// Plain Kubernetes divides a busy node in proportion to requests: that is what nobody may be harmed against.
			Weight: originals[i].Sum().Cores(), Limit: j.pod.Limit(),
		}
	}
	var decision fairfinish.Decision
	l.fair, decision = fairfinish.Decide(l.config.fairFinish(l.capacity()), l.fair, now, in)
	d := division{next: max(decision.Next, min(flowDwell, l.config.Interval/2))}
	moved := growth.Share(0)
	for i, g := range decision.Grants {
		inputs := jobs[i].inputs()
		inputs.Left, inputs.Need, inputs.Like = foreseen[i].left, foreseen[i].need, foreseen[i].like
		inputs.Due, inputs.Late = finite(g.FairFinish), g.Overdue
		inputs.Limit = growth.MilliCPU(1000 * l.fair.Accounts[g.ID].Limit)
		moved = max(moved, growth.Share(math.Abs(float64(g.Share-jobs[i].share))))
		d.grants = append(d.grants, grant{jobs[i].category, float64(g.Share), g.Share, g.Reason, inputs})
	}
	if !interrupted && moved < stir {
		for i, j := range jobs {
			d.grants[i].share = j.share
		}
	}
	return d
}

// flowDwell is the longest that a decision which wants to come sooner than the interval is put off: weights take
// kubelet seconds to change.
const flowDwell = 10 * time.Second

// capacity is what the sharers can have together: what the node gives to pods, less what jobs that do not share use.
func (l *Loop) capacity() growth.MilliCPU {
	capacity := max(l.allocatable, growth.Core)
	for _, j := range l.jobs {
		if !j.tunable() {
			capacity -= j.used
		}
	}
	return max(capacity, leastCapacity)
}

// finite leaves out what JSON can not say.
func finite(s growth.Seconds) growth.Seconds {
	if math.IsInf(float64(s), 0) || math.IsNaN(float64(s)) {
		return 0
	}
	return s
}
