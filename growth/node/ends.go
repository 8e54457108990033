package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

const (
	// endsPeriod is the time between two estimates of the ends, and the minimum time between two writes of
	// gpushare.ETAAnnotation of a job.
	endsPeriod = time.Minute
	// maxExpected bounds the jobs of one resource whose ends are simulated. More jobs are expected to share fairly.
	maxExpected = 24
)

// estimateEnds estimates when the jobs end by the shares that the policy is expected to give them: once per endsPeriod, after a
// decision about another set of jobs, and as soon as the work of a job with a deadline is known.
func (n *Node) estimateEnds() {
	if !n.config.Ends || n.now.Sub(n.endsEstimated) < endsPeriod && !n.newDeadline() {
		return
	}
	n.endsEstimated = n.now
	for _, j := range n.jobs {
		j.eta = nil
		j.late.by = nil
	}
	if n.dividesGPUs() {
		for _, g := range n.groups {
			n.estimateGroup(g)
		}
	} else {
		n.estimateOnCPU()
		n.estimateUntuned()
	}
	for _, j := range n.sorted() {
		n.annotateETA(j)
	}
}

func (n *Node) estimateOnCPU() {
	jobs, originals := n.active(n.sharers())
	in := make([]fairfinish.Job, len(jobs))
	for i, j := range jobs {
		in[i] = n.expected(j)
		in[i].Limit = j.pod.Limit()
		in[i].Weight = float64(j.share)
		if n.config.Policy == policy.Fair {
			in[i].Weight = j.pod.Total(originals[i]).Cores()
		}
	}
	e := estimate{config: n.config.fairFinish(n.capacity()), state: n.fair, jobs: in, byPolicy: n.config.Policy == policy.Harmless}
	ends := e.ends()
	for i, j := range jobs {
		j.usable = n.usable(in[i])
		n.setETA(j, in[i].Remaining, ends[i])
		n.forecastDeadline(j, e, ends[i])
	}
}

// estimateUntuned expects the jobs whose CPU is not divided to go on as fast as in the last interval. What they could make of more
// is not known.
func (n *Node) estimateUntuned() {
	for _, j := range n.sorted() {
		if j.tunable() || j.isPaused() || j.used <= 0 {
			continue
		}
		f := n.forecast(j.leader())
		if left := f.remaining; fairfinish.Sized(left) {
			i := j.timeFor(left)
			n.setETA(j, left, fairfinish.End{Low: i.Low, Likely: i.Likely, High: i.High, Known: true})
		}
		if due := j.leader().userDeadline(f).Work; fairfinish.Sized(due) {
			i := j.timeFor(due)
			n.forecastDeadline(j, estimate{}, fairfinish.End{Due: &i, Alone: &deadline.Interval{}})
		}
	}
}

// timeFor returns how long the job needs for some work with the CPU that it has used in the last interval.
func (j *job) timeFor(w remaining.Estimate) deadline.Interval {
	after := func(w growth.Work) growth.Seconds { return growth.Seconds(float64(w) / j.used.Cores()) }
	return deadline.Interval{Low: after(w.Low), Likely: after(w.Likely), High: after(w.High)}
}

func (n *Node) estimateGroup(g gpuGroup) {
	in := make([]fairfinish.Job, len(g.jobs))
	speedups := n.speedups(g)
	for i, j := range g.jobs {
		in[i] = n.expected(j.job)
		in[i].On = j.gpus
		in[i].Speedup = speedups[j.gpus[0]]
		in[i].Limit = growth.MilliCPU(float64(len(j.gpus)) * float64(j.limit()) * float64(growth.Core))
		in[i].Weight = float64(len(j.gpus))
		if g.turns {
			in[i].Weight *= float64(j.gpu.share)
		}
	}
	e := estimate{
		config:   n.config.fairFinishOn(len(g.gpus)),
		state:    n.gpuFair,
		jobs:     in,
		byPolicy: g.turns && n.config.Policy == policy.Harmless,
	}
	ends := e.ends()
	for i, j := range g.jobs {
		for _, pod := range j.pods {
			pod.usable = n.usable(in[i])
			n.setETA(pod, in[i].Remaining, ends[i])
			n.forecastDeadline(pod, e, ends[i])
		}
	}
}

// expected returns a job for package fairfinish, without its resource.
func (n *Node) expected(j *job) fairfinish.Job {
	lead := j.leader()
	f := n.forecast(lead)
	return fairfinish.Job{
		ID:                j.pod.Ref.UID,
		Remaining:         f.remaining,
		ToTarget:          f.toTarget,
		TargetFromSimilar: f.complete,
		FloorOnly:         n.floorReason(lead, f) != "",
		Deadline:          lead.userDeadline(f),
	}
}

// estimate is a resource and the jobs that share it. byPolicy is set if policy.Harmless divides it.
type estimate struct {
	config   fairfinish.Config
	state    fairfinish.State
	jobs     []fairfinish.Job
	byPolicy bool
}

// ends returns the ends of the jobs.
func (e estimate) ends() []fairfinish.End {
	if e.byPolicy && len(e.jobs) <= maxExpected {
		return fairfinish.Expect(e.config, e.state, e.jobs)
	}
	return fairfinish.ExpectFair(e.config, e.jobs)
}

func (n *Node) setETA(j *job, left remaining.Estimate, end fairfinish.End) {
	if n.jobs[j.pod.Ref.UID] != j || j.pod.Ended() || !end.Known {
		return
	}
	j.eta = &bus.ETA{
		ETA: gpushare.ETA{
			Likely: n.now.Add(end.Likely.Duration()),
			Low:    n.now.Add(end.Low.Duration()),
			High:   n.now.Add(end.High.Duration()),
		}.Round(),
		Remaining: left,
	}
}

// publishedETA returns when a job is expected to end, for its sample; nil if that is unknown.
func (n *Node) publishedETA(j *job) *bus.ETA {
	if j.eta == nil {
		return nil
	}
	eta := *j.eta
	eta.Left = n.left(eta.Likely)
	return &eta
}

// left returns the time to another one, in whole seconds.
func (n *Node) left(at time.Time) *growth.Seconds {
	return new(growth.Seconds(at.Sub(n.now).Round(time.Second).Seconds()))
}

// usable returns the most that a job can use at once of its resource, as declared and as learned; 0 if that is unknown.
func (n *Node) usable(in fairfinish.Job) growth.MilliCPU {
	if account, known := n.fair.Accounts[in.ID]; known && len(in.On) == 0 {
		return growth.MilliCPU(account.Limit * float64(growth.Core))
	}
	return in.Limit
}

// annotateETA writes when the job is expected to end, at most once per endsPeriod and only if that has changed noticeably.
func (n *Node) annotateETA(j *job) {
	if j.etaWritten == "" { // an earlier coordinator may have written it
		j.etaWritten = j.pod.Annotations[gpushare.ETAAnnotation]
	}
	written, known := gpushare.ParseETA(j.etaWritten)
	text := gpushare.UnknownETA
	if j.eta != nil {
		if known && !n.moved(written, j.eta.ETA) {
			return
		}
		text = j.eta.String()
	}
	if text == j.etaWritten || j.eta == nil && j.etaWritten == "" || n.now.Sub(j.etaAt) < endsPeriod {
		return
	}
	j.etaWritten, j.etaAt = text, n.now
	n.annotate(j.pod.Ref, gpushare.ETAAnnotation, text)
}

// moved reports whether one of the three times has moved by a tenth of the time that is left, and by 5 s.
func (n *Node) moved(from, to gpushare.ETA) bool {
	least := max(to.Likely.Sub(n.now)/10, 5*time.Second)
	return slices.Max([]time.Duration{
		from.Likely.Sub(to.Likely).Abs(),
		from.Low.Sub(to.Low).Abs(),
		from.High.Sub(to.High).Abs(),
	}) >= least
}
