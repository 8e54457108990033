package node

import (
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
)

// overlaps reports whether the jobs of GPUs are clients of MPS, so that their kernels run at the same time. A MIG instance has
// no MPS server.
func (n *Node) overlaps(gpus []growth.GPU) bool {
	instance := func(gpu growth.GPU) bool { return strings.HasPrefix(string(gpu), "MIG-") }
	return n.sharedByMPS && !slices.ContainsFunc(gpus, instance)
}

// overlap returns what was measured of a job next to the others on its GPU, if their kernels overlap, or if the jobs have gaps for
// one another: all of them together do more by speedup than in turns. That is plain sharing, the reference for harm. Otherwise the
// reference is processor sharing. Jobs that have ended still count in the reference.
func (n *Node) overlap(g gpuGroup, of gpuJob, before fairfinish.State, speedup float64) fairfinish.Overlap {
	if !of.overlaps && speedup <= 1+corun.Margin {
		return fairfinish.Overlap{}
	}
	var present, ended []corun.Kind
	for _, j := range g.sharers(of) {
		present = append(present, j.interferes())
	}
	for _, a := range before.Accounts {
		if kind := corun.Kind(a.Overlap.Kind); kind != "" && !slices.Contains(present, kind) {
			ended = append(ended, kind)
		}
	}
	o := fairfinish.Overlap{Kind: string(of.interferes()), Delays: map[string]float64{}}
	for kind, delay := range n.speeds.Delays(of.interferes(), present, ended) {
		o.Delays[string(kind)] = delay
	}
	return o
}
