package rebalance

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/specon"
)

const (
	// maxAge is the age from which a sample is stale. Coordinators write each sample once per interval, by default every 5 s.
	maxAge = 3 * time.Minute
	// maxWork bounds believable work, in seconds of one processor: a hundred years.
	maxWork growth.Work = 100 * 365 * 24 * 3600
	// maxUsable bounds what a job can believably use at once.
	maxUsable = 4096 * growth.Core
	// certain is the least part of the likely work that a job has with a probability of 90 %. A job of a less certain size is
	// one of unknown size.
	certain = 1.0 / 3
)

// pool is a resource that jobs of a node share.
type pool struct {
	specon.Node
	host *Node
}

// pools returns what the jobs of a node share: its CPU, or each of its GPUs. It returns why the node takes no part.
func (v *view) pools(n *Node) ([]pool, string) {
	if n.Unused != "" {
		return nil, n.Unused
	}
	for _, j := range n.Jobs {
		if why := unusable(j, n.Name); why != "" {
			return nil, fmt.Sprintf("pod %s: %s", j.Pod, why)
		}
	}
	if !n.GPUTime {
		if n.CPU <= 0 {
			return nil, "its coordinator has not published how much CPU its jobs share"
		}
		p := pool{specon.Node{Name: n.Name, CPU: n.CPU}, n}
		for _, j := range n.Jobs {
			p.Jobs = append(p.Jobs, v.job(j, n, 1))
		}
		return []pool{p}, ""
	}
	var all []pool
	for _, g := range n.GPUs {
		p := pool{specon.Node{Name: n.Name + "/" + growth.NodeName(g.UUID), CPU: growth.Core, GPU: g.UUID}, n}
		for _, j := range n.Jobs {
			for _, on := range j.GPUs {
				if on == g.UUID {
					p.Jobs = append(p.Jobs, v.job(j, n, len(j.GPUs)))
				}
			}
		}
		all = append(all, p)
	}
	return all, ""
}

// silent returns why a job has no fresh sample of its node, or "".
func silent(j Job, on growth.NodeName) string {
	switch p := j.Prospects; {
	case p == nil:
		return "its coordinator has published nothing about it"
	case p.Node != on:
		return fmt.Sprintf("its sample is of node %.253s", p.Node)
	case p.Age > maxAge:
		return fmt.Sprintf("its sample is %s old", p.Age.Round(time.Second))
	}
	return ""
}

// unusable returns why what is known of a job does not suffice for a decision about its node, or "".
func unusable(j Job, on growth.NodeName) string {
	if why := silent(j, on); why != "" {
		return why
	}
	switch p := j.Prospects; {
	case p.Usable <= 0:
		return "it is unknown how much it can use"
	case p.Usable > maxUsable:
		return "its sample is invalid: it can use " + p.Usable.String()
	case len(j.GPUs) == 0:
		return "it is unknown on which GPU it is"
	case !believable(p.Remaining):
		return "its sample is invalid: the remaining work is not an interval of amounts"
	}
	return ""
}

// believable reports whether an estimate is unknown or an interval. Comparisons with NaN are false.
func believable(e remaining.Estimate) bool {
	return !e.Known || e.Low >= 0 && e.Low <= e.Likely && e.Likely <= e.High && e.Likely <= maxWork
}

// job returns a job for specon.Rule. width is the number of its GPUs, on each of which it does an equal part of its work.
func (v *view) job(j Job, n *Node, width int) specon.Job {
	p := j.Prospects
	left := p.Remaining
	if float64(left.Low) < certain*float64(left.Likely) {
		left = remaining.Estimate{Unit: left.Unit}
	}
	part := growth.Work(width)
	left.Low, left.Likely, left.High = left.Low/part, left.Likely/part, left.High/part
	cost, _ := v.measuredCost(j)
	out := specon.Job{
		ID:         j.Pod.UID,
		Rebalanced: j.History.Count,
		Fixed:      v.fixed(j),
		Arrived:    j.Created,
		Placed:     j.Created,
		Remaining:  left,
		Limit:      p.Usable / growth.MilliCPU(width),
		Cost:       cost,
		Delayed:    v.delayed(j, n.Name),
		Pull: func(on growth.NodeName) growth.Seconds {
			host, _, _ := strings.Cut(string(on), "/") // of a GPU
			return v.pull(j, growth.NodeName(host))
		},
	}
	if width > 1 {
		out.Fixed = "it uses several GPUs"
	}
	if n.Overlap {
		out.Overlap = v.overlap(j)
	}
	return out
}

// fixed returns why a job is not moved without a request, or "".
func (v *view) fixed(j Job) string {
	switch {
	case j.Fixed != "":
		return j.Fixed
	case v.Now.Before(j.History.Retry()):
		return "its last move has failed"
	}
	return ""
}

// delayed returns by how much earlier moves to a node have delayed the end of a job there, at most.
func (v *view) delayed(j Job, on growth.NodeName) (sum growth.Seconds) {
	for _, p := range v.arrivals[on] {
		if p.Ended.After(j.Created) && p.New != j.Pod.UID {
			sum += p.Delay
		}
	}
	return sum
}

// overlap returns how much other kinds of jobs delay a job whose kernels overlap theirs, as predicted with caution.
func (v *view) overlap(j Job) fairfinish.Overlap {
	model := v.Model
	if model == nil {
		model = new(interference.Prior())
	}
	own := interference.Member{Kind: j.Request.Kind, Activity: j.Prospects.Activity}
	o := fairfinish.Overlap{Kind: string(own.Kind), Delays: map[string]float64{}}
	for kind, member := range v.overlapping {
		delay := float64(model.Predict(own, []interference.Member{member}).Cautious()) - 1
		o.Delays[string(kind)] = math.Max(0, delay)
	}
	return o
}
