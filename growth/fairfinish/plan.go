package fairfinish

import (
	"cmp"
	"slices"
)

// plan asks whether some schedule does all work in time. Time is cut into segments; within one a job can be served at
// any constant rate up to its limit.
type plan struct {
	cores float64
	// lengths of the segments, in seconds from now on.
	lengths   []float64
	limits    []float64   // of each job, in cores
	due       [][]float64 // by job: the work owed at the end of each segment, cumulative and in core-seconds
	floor     [][]float64 // by job: what it is served at least by then
	remaining []float64   // of each job
}

// lift makes some work of a job due in the first segment. Its floor after that comes on top.
func (p *plan) require(job int, work float64) {
	due, floor := p.due[job], p.floor[job]
	for s := range due {
		due[s] = max(due[s], min(work+floor[s]-floor[0], p.remaining[job]))
	}
}

// deficit is the work that can not be done in time, whatever the order; 0 for a plan that works.
//
// It goes through time backwards, where every due work is an arrival and all have one deadline, now. There it is best
// to keep the jobs level: to serve those that need the longest at their limit. What is then left at the beginning is
// what no schedule could have done.
func (p *plan) deficit() float64 {
	n, last := len(p.limits), len(p.lengths)-1
	ready := make([]float64, n)  // owed by the end of this segment or later, and not planned for later
	height := make([]float64, n) // all that is to be done up to here
	room := make([]float64, n)   // what can be served of it in this segment
	done := make([]float64, n)
	order := make([]breakpoint, 0, 2*n)
	for i, due := range p.due {
		height[i] = due[last]
	}
	for s := last; s >= 0; s-- {
		sum := 0.0
		for i, due := range p.due {
			ready[i] += due[s]
			if s > 0 {
				ready[i] -= due[s-1]
			}
			room[i] = min(ready[i], p.limits[i]*p.lengths[s])
			sum += room[i]
		}
		copy(done, room)
		if capacity := p.cores * p.lengths[s]; sum > capacity {
			order = p.level(height, room, done, capacity, order[:0])
		}
		for i := range done {
			ready[i] -= done[i]
			height[i] -= done[i]
		}
	}
	short := 0.0
	for _, left := range ready {
		short += left
	}
	return short
}

// corner is a height at which a job begins (at its top) or ends (at its bottom) to be served.
type breakpoint struct {
	height, slope float64
}

// level serves capacity from the top: down to one height, in seconds at its limit, for all jobs, each within its room.
func (p *plan) level(height, room, done []float64, capacity float64, corners []breakpoint) []breakpoint {
	for i, limit := range p.limits {
		if room[i] > 0 {
			top := height[i] / limit
			corners = append(corners, breakpoint{top, limit}, breakpoint{top - room[i]/limit, -limit})
		}
	}
	slices.SortFunc(corners, func(a, b breakpoint) int { return cmp.Compare(b.height, a.height) })
	water, slope, served := 0.0, 0.0, 0.0
	for i, c := range corners {
		if i > 0 {
			if more := slope * (water - c.height); served+more >= capacity {
				water -= (capacity - served) / slope
				break
			} else {
				served += more
			}
		}
		water, slope = c.height, slope+c.slope
	}
	for i, limit := range p.limits {
		done[i] = min(room[i], max(0, height[i]-limit*water))
	}
	return corners
}
