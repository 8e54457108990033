package cache

import (
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/placement"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// sample is the part of a job's sample that decisions read. A cluster has tens of thousands, and a whole sample, with its
// curve and its history, is fifty times as large.
type sample struct {
	node       growth.NodeName
	reported   bool
	growth     growth.Growth
	category   growth.Category
	step, load growth.Seconds
	// left is the time to the job's expected end, 0 if it is unknown.
	left growth.Seconds
	// The rest is for moves without a request.
	remaining     remaining.Estimate
	usable        growth.MilliCPU
	cpu           growth.MilliCPU // as in placement.CPUOf
	paused, spans bool
	revision      bus.Revision
	received      time.Time
}

// slimSample returns what is kept of a sample. before is what is kept of the one before: a list has the same sample again.
func slimSample(s bus.Sample, revision bus.Revision, before sample, now time.Time) sample {
	if revision == before.revision {
		now = before.received
	}
	var left remaining.Estimate
	if s.ETA != nil {
		left = s.ETA.Remaining
	}
	return sample{
		node:     s.Node,
		reported: s.Reported,
		growth:   s.Growth,
		category: s.Category,
		step:     s.StepSeconds,
		load:     s.LoadSeconds,
		left:     placement.LeftOf(s),

		remaining: left,
		usable:    s.Usable,
		cpu:       placement.CPUOf(s),
		paused:    s.Paused != "",
		spans:     s.Gang != "",
		revision:  revision,
		received:  now,
	}
}

// sample returns the kept fields as a bus.Sample.
func (s sample) sample() bus.Sample {
	kept := bus.Sample{
		Node:        s.node,
		Reported:    s.reported,
		Growth:      s.growth,
		Category:    s.category,
		StepSeconds: s.step,
		LoadSeconds: s.load,
		CPUUsed:     s.cpu,
	}
	if s.left > 0 {
		kept.ETA = &bus.ETA{Left: &s.left}
	}
	return kept
}

// Prospects are what a job's latest sample says about its future.
type Prospects struct {
	Node      growth.NodeName
	Remaining remaining.Estimate
	// Usable is the most that the job can use at once of its resource; 0 if it is unknown.
	Usable growth.MilliCPU
	// Activity is the fraction of its step time in which the job does not wait for data; 0 if it is unknown.
	Activity growth.Share
	// Paused is set if the user has paused the job, Spans if it has several pods.
	Paused, Spans bool
	// Received is when this process received the sample.
	Received time.Time
}

func (s sample) prospects() Prospects {
	return Prospects{
		Node:      s.node,
		Remaining: s.remaining,
		Usable:    s.usable,
		Activity:  placement.ActivityOf(s.sample()),
		Paused:    s.paused,
		Spans:     s.spans,
		Received:  s.received,
	}
}
