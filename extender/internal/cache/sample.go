package cache

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// sample is the part of a job's sample that decisions read. A cluster has tens of thousands, and a whole sample, with its
// curve and its history, is fifty times as large.
type sample struct {
	node       growth.NodeName
	reported   bool
	growth     growth.Growth
	category   growth.Category
	step, load growth.Seconds
}

func slimSample(s bus.Sample) sample {
	return sample{
		node:     s.Node,
		reported: s.Reported,
		growth:   s.Growth,
		category: s.Category,
		step:     s.StepSeconds,
		load:     s.LoadSeconds,
	}
}

// sample returns the kept fields as a bus.Sample.
func (s sample) sample() bus.Sample {
	return bus.Sample{
		Node:        s.node,
		Reported:    s.reported,
		Growth:      s.growth,
		Category:    s.category,
		StepSeconds: s.step,
		LoadSeconds: s.load,
	}
}
