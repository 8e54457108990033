package slice

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Demand is a container that kubelet will allocate units for, because its pod is bound to this node.
type Demand struct {
	Pod       growth.PodUID
	Container string
	// Created is the pod's creation time, which is kubelet's order of admission for a batch of pods.
	Created time.Time
	// Units is the total over Count GPUs.
	Units int
	Count int
	// Room is the number of units that the pod needs from this container on, if that is more than Units. Later
	// containers of the pod should fit on the same GPU.
	Room int
	// GPUs are the GPUs reserved for the container; empty for a pod that was bound without the extender.
	GPUs []growth.GPU
	// Cores is the requested limit in percent of a GPU's compute, or 0.
	Cores int
	// Init marks an init container. It reserves nothing, because later containers reuse its units.
	Init bool
}

// Key identifies a demand.
type Key struct {
	Pod       growth.PodUID
	Container string
}

// Key returns the demand's identity.
func (d Demand) Key() Key { return Key{Pod: d.Pod, Container: d.Container} }

// split distributes the units over the demand's GPUs; the first GPUs get the remainder.
func (d Demand) split(units int) []Part {
	gpus := slices.Compact(slices.Sorted(slices.Values(d.GPUs)))
	parts := make([]Part, len(gpus))
	for i, gpu := range gpus {
		parts[i] = Part{GPU: gpu, Units: units / len(gpus)}
		if i < units%len(gpus) {
			parts[i].Units++
		}
	}
	return parts
}

// inAdmissionOrder returns the demands in kubelet's order of admission. Containers of one pod keep their order.
func inAdmissionOrder(demands []Demand) []Demand {
	sorted := slices.Clone(demands)
	slices.SortStableFunc(sorted, func(a, b Demand) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Pod, b.Pod))
	})
	return sorted
}

// MatchAllocation returns the demand that an allocation most likely satisfies: the first with the same size and GPUs,
// else the first with the same size. The match only keeps the next choice from using the same reservation; kubelet's
// List provides the actual holder.
func MatchAllocation(parts []Part, demands []Demand) (Demand, bool) {
	var fallback *Demand
	units := 0
	for _, p := range parts {
		units += p.Units
	}
	ordered := inAdmissionOrder(demands)
	for i, d := range ordered {
		if d.Units != units {
			continue
		}
		if fallback == nil {
			fallback = &ordered[i]
		}
		elsewhere := func(p Part) bool { return !slices.Contains(d.GPUs, p.GPU) }
		if len(d.GPUs) == len(parts) && !slices.ContainsFunc(parts, elsewhere) {
			return d, true
		}
	}
	if fallback == nil {
		return Demand{}, false
	}
	return *fallback, true
}

// Spans reports whether a demand requests this number of units on this number of GPUs.
func Spans(demands []Demand, units, gpus int) bool {
	return slices.ContainsFunc(demands, func(d Demand) bool { return d.Units == units && d.Count == gpus })
}
