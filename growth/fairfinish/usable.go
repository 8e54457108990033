package fairfinish

import "github.com/trellis-gpu/trellis/growth"

const (
	// underuse is the fraction of its grant below which a job leaves CPU to other jobs.
	underuse = 0.8
	// headroom is the factor by which a job's limit exceeds what it used while it left CPU to others.
	headroom = 1.2
	// A job that uses more than fullUse of its limit may be able to use more: its limit grows by limitGrowth.
	fullUse     = 0.95
	limitGrowth = 1.5
	// idleUse is the fraction of the node in use below which no job is constrained by the others.
	idleUse = 0.3
	// maxWait is the fraction of time spent waiting for a CPU above which the remaining time is too short to learn
	// from.
	maxWait = 0.75
)

// observation is what the time since the last decision has shown about all jobs together.
type observation struct {
	// elapsed is the length of that time, and seconds the same; 0 if it was too short to learn from.
	elapsed, seconds float64
	// idle is set if much of the node was unused, so that no job was constrained.
	idle bool
	// topUse is the largest fraction of its grant that any job used. It is below 1 if other processes take part of the
	// node.
	topUse float64
	// cores is the capacity of the jobs together: what they used if they could have used all of it, else the previous
	// value.
	cores float64
}

// observe compares the usage of the jobs with their grants.
func (s State) observe(c Config, jobs []Job, seconds float64) observation {
	cores := c.Cores.Cores()
	seen := observation{elapsed: seconds, cores: cores}
	if s.Served > 0 {
		seen.cores = s.Served * cores
	}
	if seconds < c.Interval.Seconds()/2 {
		return seen
	}
	sum, limits := 0.0, 0.0
	for _, j := range jobs {
		a, known := s.Accounts[j.ID]
		if !known || a.Ended || a.Paused {
			continue
		}
		used, _ := a.usedSince(j)
		sum += float64(used) / seconds
		limits += a.Limit
		if a.GrantedCores > 0 {
			seen.topUse = max(seen.topUse, float64(used)/seconds/a.GrantedCores)
		}
	}
	seen.seconds = seconds
	seen.idle = sum < idleUse*cores
	if !seen.idle && limits > seen.cores-epsilon && c.Unit == growth.CoreSecond { // GPUs serve these jobs only
		seen.cores = sum
	}
	return seen
}

// usable returns the number of cores that the job can use, given its mean usage in cores; 0 for no limit.
func (seen observation) usable(a Account, used float64, wait fraction) float64 {
	if wait.known {
		return seen.usableFromWait(a, used, wait.value)
	}
	return seen.usableFromPeers(a, used)
}

// fraction is a fraction of the time since the last decision, if it is known.
type fraction struct {
	value float64
	known bool
}

// usableFromWait derives the limit from the time in which the job did not wait for a CPU: then it ran, or waited for
// something else. A grant takes seconds to reach the kernel, but until then the job waits for a CPU.
func (seen observation) usableFromWait(a Account, used, wait float64) float64 {
	alone := headroom * used / (1 - wait)
	switch {
	case wait > maxWait: // the job can use more, but it is unknown how much
		return seen.capped(limitGrowth * a.UsableCores)
	case used < underuse*a.GrantedCores, a.UsableCores > 0 && alone > a.UsableCores:
		return seen.capped(max(alone, a.Limit/100))
	}
	return a.UsableCores
}

// usableFromPeers derives the limit from a comparison with other jobs, where the kernel does not report the wait. CPU
// weights leave nothing idle that a job wants. A job that used much less of its grant than others did, or than it could
// have used on an idle node, therefore waited for something else.
func (seen observation) usableFromPeers(a Account, used float64) float64 {
	grant := underuse * a.GrantedCores
	full := fullUse * min(a.UsableCores, a.GrantedCores) * min(seen.topUse, 1)
	switch {
	case used < grant && (seen.idle || used < grant*seen.topUse):
		return max(headroom*used, a.Limit/100)
	case a.UsableCores > 0 && used > full: // the job used all that it was allowed to
		return seen.capped(limitGrowth * a.UsableCores)
	}
	return seen.capped(a.UsableCores)
}

// capped returns 0, for no limit, if cores is at least the capacity.
func (seen observation) capped(cores float64) float64 {
	if cores >= seen.cores {
		return 0
	}
	return cores
}
