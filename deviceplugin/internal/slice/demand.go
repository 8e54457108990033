package slice

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Demand is a container of which kubelet will ask for units, because its pod is bound to this node.
type Demand struct {
	Pod       growth.PodUID
	Container string
	// Created is the pod's creation time: kubelet admits a batch of pods in that order.
	Created time.Time
	// Units are asked for in all, on Count GPUs together.
	Units int
	Count int
	// Room is what its pod needs in all from this container on, where that is more: later containers of the pod are to
	// find room on the same GPU.
	Room int
	// GPUs names the GPUs reserved for it. Empty for a pod that was bound without the extender.
	GPUs []growth.GPU
	// Cores is how much of a GPU's compute its pod asks for at most, in per cent; 0 for no limit.
	Cores int
	// Init marks an init container: its units are used again by the containers after it, so they reserve nothing.
	Init bool
}

// Key identifies a demand.
type Key struct {
	Pod       growth.PodUID
	Container string
}

// Key returns the demand's identity.
func (d Demand) Key() Key { return Key{Pod: d.Pod, Container: d.Container} }

// split divides the demanded units over its GPUs; the first ones get what does not divide.
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

// inAdmissionOrder returns demands in kubelet's order of admission. Containers of one pod keep the order they are given in.
func inAdmissionOrder(demands []Demand) []Demand {
	sorted := slices.Clone(demands)
	slices.SortStableFunc(sorted, func(a, b Demand) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Pod, b.Pod))
	})
	return sorted
}

// MatchAllocation finds the demand that an allocation most likely answers: the first that asks for so many units on exactly
// these GPUs, else the first that asks for so many. It only keeps the next choice from steering to the same
// reservation again; who really holds the ids is learned from kubelet.
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
		if len(d.GPUs) == len(parts) && !slices.ContainsFunc(parts, func(p Part) bool { return !slices.Contains(d.GPUs, p.GPU) }) {
			return d, true
		}
	}
	if fallback == nil {
		return Demand{}, false
	}
	return *fallback, true
}

// Spans tells whether some container asks for so many units over so many GPUs.
func Spans(demands []Demand, units, gpus int) bool {
	return slices.ContainsFunc(demands, func(d Demand) bool { return d.Units == units && d.Count == gpus })
}
