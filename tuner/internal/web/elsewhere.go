package web

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// elsewhere returns the other nodes on which a job at risk would be in time with an equal part of what its node divides: of a GPU of the
// same model, or of the CPU. It is empty for a job with processes in other pods, which would have to move too.
func elsewhere(s *history.Snapshot, job *bus.Sample, now time.Time) []deadline.Spare {
	d, eta := job.Deadline, job.ETA
	if d == nil || d.Status != deadline.AtRisk || eta == nil || job.WorldSize > max(1, job.Ranks) {
		return nil
	}
	left := eta.Remaining
	if d.ToTarget != nil {
		left = *d.ToTarget
	}
	places := cpusElsewhere(s, job.Node)
	if left.Unit == growth.GPUSecond {
		places = gpusElsewhere(s, job)
	}
	found := deadline.Elsewhere(left.High, job.Usable, d.LeftAt(now), places)
	for i, spare := range found { // the document should not change with every second
		found[i].Early = growth.Seconds(60 * math.Floor(float64(spare.Early)/60))
	}
	return found
}

// gpusElsewhere returns the GPUs of other nodes that are of the model of the job's GPU. It returns none for a job on several GPUs.
func gpusElsewhere(s *history.Snapshot, job *bus.Sample) (places []deadline.Place) {
	if len(job.GPUs) != 1 {
		return nil
	}
	model := modelOf(s, job.Node, job.GPUs[0])
	for _, n := range otherNodes(s, job.Node) {
		if !dividesGPUs(n) {
			continue
		}
		pods := podsOn(s, n.Name)
		for _, g := range n.GPUs.GPUs {
			if g.Healthy && g.Model == model {
				places = append(places, deadline.Place{Node: n.Name, Capacity: growth.Core, Jobs: holding(pods, g.UUID)})
			}
		}
	}
	return places
}

// cpusElsewhere returns the CPU of the other nodes that divide it. All cores count as equally fast: their models are not on the bus.
func cpusElsewhere(s *history.Snapshot, except growth.NodeName) (places []deadline.Place) {
	for _, n := range otherNodes(s, except) {
		if dividesGPUs(n) || !slices.ContainsFunc(n.GPUs.GPUs, func(g bus.GPU) bool { return g.Healthy }) {
			continue
		}
		capacity := cmp.Or(n.Load.CPUCapacity, n.Load.CPUPool) // earlier releases publish only what jobs share
		places = append(places, deadline.Place{Node: n.Name, Capacity: capacity, Jobs: len(podsOn(s, n.Name))})
	}
	return places
}

// otherNodes returns all nodes but one that have a coordinator and a device plugin.
func otherNodes(s *history.Snapshot, except growth.NodeName) (nodes []history.Node) {
	for _, n := range s.Nodes {
		if n.Name != except && n.Load != nil && n.GPUs != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// dividesGPUs reports whether the GPUs of a node compute, so that by default their time is divided, and not the CPU.
func dividesGPUs(n history.Node) bool { return !n.GPUs.Emulated || n.GPUs.Computes }

func modelOf(s *history.Snapshot, node growth.NodeName, gpu growth.GPU) string {
	for _, n := range s.Nodes {
		if n.Name != node || n.GPUs == nil {
			continue
		}
		if i := slices.IndexFunc(n.GPUs.GPUs, func(g bus.GPU) bool { return g.UUID == gpu }); i >= 0 {
			return n.GPUs.GPUs[i].Model
		}
	}
	return ""
}

func podsOn(s *history.Snapshot, node growth.NodeName) (pods []*bus.Sample) {
	for _, j := range s.Jobs {
		if j.Sample != nil && j.Sample.Node == node {
			pods = append(pods, j.Sample)
		}
	}
	return pods
}

// holding counts the pods of a node with a GPU. Emulated GPUs of different nodes may have the same name.
func holding(pods []*bus.Sample, gpu growth.GPU) (count int) {
	for _, pod := range pods {
		if slices.Contains(pod.GPUs, gpu) {
			count++
		}
	}
	return count
}
