package fairfinish

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// plan checks whether a schedule exists that does all work in time. Time is divided into segments. Within a segment a
// job can run at any constant rate up to its limit.
type plan struct {
	cores   float64
	ends    []float64 // of the segments, in seconds from now
	lengths []float64 // of the segments, in seconds
	limits  []float64 // of the jobs, in cores
	// due is, by job, the work that must be done by the end of each segment, cumulative.
	due [][]float64
	// floor is, by job, the work of the guaranteed minimum share by then.
	floor [][]float64
	// remaining is the remaining work of each job.
	remaining []float64
	// on has the GPUs of each job; nil if the jobs share the cores.
	on [][]growth.GPU
	// speedups has the work of each GPU per second, if it is more than one GPU-second.
	speedups map[growth.GPU]float64
}

// require adds a requirement: the job must do some work in the first segment, and its floor in later ones.
func (p *plan) require(job int, work float64) {
	due, floor := p.due[job], p.floor[job]
	for s := range due {
		due[s] = max(due[s], min(work+floor[s]-floor[0], p.remaining[job]))
	}
}

// deficit returns the amount of work that no schedule can do in time; 0 for a feasible plan. With GPUs it is that of the
// GPU with the largest one.
func (p *plan) deficit() float64 {
	if p.on == nil {
		return p.pooled()
	}
	return p.largestDeficit(p.gpus())
}

// pooled returns the deficit of jobs that share the cores.
//
// It goes backwards in time. Due work then becomes an arrival, and all work has the same deadline: now. In that
// direction it is optimal to serve the jobs that need the longest at their limit, which keeps the jobs level. The work
// left at the beginning is the deficit.
func (p *plan) pooled() float64 {
	n, last := len(p.limits), len(p.lengths)-1
	ready := make([]float64, n)  // due by the end of this segment or later, and not done in a later one
	height := make([]float64, n) // all work up to this segment
	room := make([]float64, n)   // the part of ready that fits into this segment
	done := make([]float64, n)
	breakpoints := make([]breakpoint, 0, 2*n)
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
		capacity := p.cores * p.lengths[s]
		if sum > capacity {
			breakpoints = p.level(height, room, done, capacity, breakpoints[:0])
		}
		for i := range done {
			ready[i] -= done[i]
			height[i] -= done[i]
		}
	}
	deficit := 0.0
	for _, work := range ready {
		deficit += work
	}
	return deficit
}

// breakpoint is a height at which the total service rate changes: a job starts to be served at its top and stops at its
// bottom.
type breakpoint struct {
	height, slope float64
}

// level distributes capacity by water filling from the top. Heights are in seconds at a job's limit. All jobs are
// lowered to one common height, each within its room.
func (p *plan) level(height, room, done []float64, capacity float64, breakpoints []breakpoint) []breakpoint {
	for i, limit := range p.limits {
		if room[i] > 0 {
			top := height[i] / limit
			bottom := top - room[i]/limit
			breakpoints = append(breakpoints, breakpoint{top, limit}, breakpoint{bottom, -limit})
		}
	}
	slices.SortFunc(breakpoints, func(a, b breakpoint) int { return cmp.Compare(b.height, a.height) })
	water, slope, served := 0.0, 0.0, 0.0
	for i, b := range breakpoints {
		if i > 0 {
			more := slope * (water - b.height)
			if served+more >= capacity {
				water -= (capacity - served) / slope
				break
			}
			served += more
		}
		water = b.height
		slope += b.slope
	}
	for i, limit := range p.limits {
		done[i] = min(room[i], max(0, height[i]-limit*water))
	}
	return breakpoints
}
