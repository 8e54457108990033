package placement

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// Crowding is how much more CPU the jobs of a node can use than it has, without a new job and with it: 1 where it suffices. The jobs then
// take so much longer. The zero value is that of a node whose CPU is unknown.
type Crowding struct {
	before, after float64
	// gpus are those of the node, whose jobs share its CPU.
	gpus []GPU
}

// crowding returns the crowding of the node by a new job that uses some CPU. No job there counts for more than the whole node, even if its
// sample does.
func (n Node) crowding(newcomer growth.MilliCPU) Crowding {
	if n.CPU <= 0 {
		return Crowding{}
	}
	var asked growth.MilliCPU
	for _, g := range n.GPUs {
		for _, r := range g.Residents {
			asked += min(max(0, r.CPU), n.CPU)
		}
	}
	of := func(asked growth.MilliCPU) float64 { return max(1, float64(asked)/float64(n.CPU)) }
	return Crowding{before: of(asked), after: of(asked + max(0, newcomer)), gpus: n.GPUs}
}

// slowdown is that of the new job.
func (c Crowding) slowdown() growth.Slowdown { return growth.Slowdown(max(1, c.after)) }

// lost returns the growth that the jobs of the node lose by it during the stay of the new job.
func (c Crowding) lost(stay growth.Seconds) (lost growth.Growth) {
	if c.after <= c.before {
		return 0
	}
	slower := growth.Slowdown(c.after / c.before)
	for _, g := range c.gpus {
		for _, r := range g.Residents {
			lost += r.Growth * growth.Growth(presence(r.Left*growth.Seconds(slower), stay)) * growth.Growth(1-1/slower)
		}
	}
	return lost
}

// explain says that the CPU is short, if it is.
func (c Crowding) explain() string {
	if c.slowdown() == 1 {
		return ""
	}
	return fmt.Sprintf("; the jobs of the node can use %.1f times the CPU that it has", c.after)
}

// CPUOf returns what a job uses, as of its sample, or could use if its node had more CPU; 0 if it is unknown. Where the time of GPUs is
// divided a sample only has what the job can use of these.
func CPUOf(s bus.Sample) growth.MilliCPU {
	if s.GPUTime != nil || s.Paused != "" {
		return s.CPUUsed
	}
	return max(s.CPUUsed, s.Usable)
}
