package sim

import (
	"math"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// growing is package flowcon, fed by the classifier as the coordinator feeds it: one report of the loss an interval.
type growing struct {
	policy   policy.Name
	config   flowcon.Config
	interval time.Duration
	trackers map[int]*efficiency.Tracker
	jobs     map[int]flowcon.Job
}

func newGrowing(name policy.Name) *growing {
	return &growing{
		policy:   name,
		config:   flowcon.Config{Alpha: 0.05, Beta: 2, Interval: interval},
		trackers: map[int]*efficiency.Tracker{}, jobs: map[int]flowcon.Job{},
	}
}

func (p *growing) Decide(now float64, running, ended []*Running) ([]float64, float64) {
	in := flowcon.Input{Interval: p.interval, Interrupted: len(ended) > 0}
	for _, r := range running {
		job, known := p.jobs[r.Index]
		if !known {
			p.trackers[r.Index] = efficiency.New(efficiency.Config{}, growth.Minimize)
			in.Interrupted = true
		}
		reading := p.sample(now, r)
		if p.policy != policy.FlowConLiteral || !known { // which keeps lists of its own
			in.Interrupted = in.Interrupted || job.Category != reading.Category
			job.Category = reading.Category
		}
		job.ID, job.Samples, job.Growth, job.Raw = id(r), reading.Samples, reading.Growth, reading.Raw
		in.Jobs = append(in.Jobs, job)
	}
	if in.Interrupted {
		in.Interval = p.config.Interval
	}
	d := flowcon.Decide(p.policy, p.config, date(now), in)
	p.interval = d.Interval
	shares := make([]float64, len(running))
	for i, g := range d.Grants {
		job := in.Jobs[i]
		if math.Abs(float64(job.Share-g.Share)) > 1e-9 {
			job.Changed = date(now)
		}
		job.Share, job.Weight, job.Category = g.Share, g.Weight, g.Category
		p.jobs[running[i].Index] = job
		shares[i] = max(float64(g.Share), 1e-6) // a cgroup's weight is never 0
	}
	return shares, d.Interval.Seconds()
}

// sample reports the loss: that which is recorded, else one that falls exponentially and has made 95 % of its way after Need.
// It is finite, which is all that Report can object to.
func (p *growing) sample(now float64, r *Running) efficiency.Reading {
	t := p.trackers[r.Index]
	for _, report := range r.heard() {
		_, _ = t.Report(int64(r.steps(report.After*r.Work)), report.Value)
	}
	if r.Losses == nil {
		_, _ = t.Report(int64(1000*r.Done), math.Exp(math.Log(0.05)*r.Done/r.Need))
	}
	return t.Tick(date(now), efficiency.Usage{CoreSeconds: growth.Seconds(r.Done), Known: true})
}
