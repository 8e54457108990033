package web

import (
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// elsewhere returns the other nodes on which a job at risk would be in time with an equal part of a GPU. It is empty for a job on several
// GPUs, or whose node divides CPU: how much CPU other nodes have left is not on the bus.
func elsewhere(s *history.Snapshot, job *bus.Sample, now time.Time) []deadline.Spare {
	d, eta := job.Deadline, job.ETA
	if d == nil || d.Status != deadline.AtRisk || eta == nil || eta.Remaining.Unit != growth.GPUSecond || len(job.GPUs) != 1 {
		return nil
	}
	places := placesElsewhere(s, job.Node, modelOf(s, job.Node, job.GPUs[0]))
	found := deadline.Elsewhere(eta.Remaining.High, job.Usable, growth.Seconds(d.At.Sub(now).Seconds()), places)
	for i, spare := range found { // the document should not change with every second
		found[i].Early = growth.Seconds(60 * math.Floor(float64(spare.Early)/60))
	}
	return found
}

// placesElsewhere returns the GPUs of a model on all nodes but one.
func placesElsewhere(s *history.Snapshot, except growth.NodeName, model string) (places []deadline.Place) {
	for _, n := range s.Nodes {
		if n.Name == except || n.Load == nil || n.GPUs == nil || n.GPUs.Emulated && !n.GPUs.Computes {
			continue
		}
		for _, g := range n.GPUs.GPUs {
			if g.Healthy && g.Model == model {
				places = append(places, deadline.Place{Node: n.Name, Capacity: growth.Core, Jobs: jobsOn(s, n.Name, g.UUID)})
			}
		}
	}
	return places
}

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

// jobsOn counts the pods with a GPU. Emulated GPUs of different nodes may have the same name.
func jobsOn(s *history.Snapshot, node growth.NodeName, gpu growth.GPU) (jobs int) {
	for _, j := range s.Jobs {
		if j.Sample != nil && j.Sample.Node == node && slices.Contains(j.Sample.GPUs, gpu) {
			jobs++
		}
	}
	return jobs
}
