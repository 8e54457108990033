package cache

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// observation is what decisions here are made of in a job's sample. Tens of thousands are kept, and the whole of one, with
// its curve and its history, is fifty times as large.
type observation struct {
	node       growth.NodeName
	reported   bool
	growth     growth.Growth
	category   growth.Category
	step, load growth.Seconds
}

func observe(s bus.Sample) observation {
	return observation{node: s.Node, reported: s.Reported, growth: s.Growth, category: s.Category, step: s.StepSeconds, load: s.LoadSeconds}
}

// sample is the part of the sample that was kept.
func (o observation) sample() bus.Sample {
	return bus.Sample{Node: o.node, Reported: o.reported, Growth: o.growth, Category: o.category, StepSeconds: o.step, LoadSeconds: o.load}
}
