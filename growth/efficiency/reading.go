package efficiency

import (
	"github.com/trellis-gpu/trellis/growth"
)

// Reading is the result of a tick.
type Reading struct {
	// Sampled is set if the tick made a sample. Otherwise the other fields are those of the previous reading.
	Sampled bool
	// Samples counts samples since the last restart. Growth is unknown before the second one.
	Samples  int
	Growth   growth.Growth
	Category growth.Category
	// Raw is the unsmoothed |ΔE| per core-second, G in the FlowCon thesis.
	Raw PerWork
	// Progress is P, in the metric's unit per second. Per is P divided by the usage of each resource.
	Progress growth.PerSecond
	Per      PerResource
	// Reason explains the category in words.
	Reason string
}

func (t *Tracker) reading(sampled bool, reason string) Reading {
	return Reading{
		Sampled:  sampled,
		Samples:  t.state.Samples,
		Growth:   t.state.Growth,
		Category: t.state.Category,
		Raw:      t.raw,
		Progress: t.progress,
		Per:      t.per,
		Reason:   reason,
	}
}
