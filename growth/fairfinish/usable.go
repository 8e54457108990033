package fairfinish

const (
	// leaves is the part of its grant below which a job leaves CPU to others.
	underuse = 0.8
	// room is what a job is thought to be able to use, of what it did while it left CPU to others.
	headroom = 1.2
	// full is the part of what it was thought able to use from which it may well be able to use more: wider times that.
	fullUse, growthStep = 0.95, 1.5
	// quiet is the part of the node in use below which nobody can have been held down.
	idleUse = 0.3
	// crowded is the part of the time in the queue for a processor above which the rest is too little to tell anything by.
	maxWait = 0.75
)

// sight is what the time since the last decision has shown of all jobs together.
type observation struct {
	// seconds is how long that was; 0 where it was too short to show anything.
	seconds float64
	// idle says that much of the node was not used: nobody was held down.
	idle bool
	// top is the greatest part of its grant that a job used. Where the node has less for the jobs than was thought, as
	// others run on it, even that is below 1.
	topUse float64
	// cores is what the jobs have together: what they used where they wanted all there is, else what was thought before.
	cores float64
}

// look compares what jobs used with what they were granted.
func (s State) observe(c Config, jobs []Job, seconds float64) observation {
	cores := c.Cores.Cores()
	seen := observation{cores: cores}
	if s.Served > 0 {
		seen.cores = s.Served * cores
	}
	if seconds < c.Interval.Seconds()/2 {
		return seen
	}
	sum, wanted := 0.0, 0.0
	for _, j := range jobs {
		a, known := s.Accounts[j.ID]
		if !known || a.Ended {
			continue
		}
		used, _ := a.usedSince(j)
		sum += float64(used) / seconds
		wanted += a.Limit
		if a.GrantedCores > 0 {
			seen.topUse = max(seen.topUse, float64(used)/seconds/a.GrantedCores)
		}
	}
	seen.seconds, seen.idle = seconds, sum < idleUse*cores
	if !seen.idle && wanted > seen.cores-epsilon {
		seen.cores = sum
	}
	return seen
}

// usable is the most cores that the job is believed to be able to use, after it has used some on average; 0 for any
// number.
func (seen observation) usable(a Account, used float64, queued fraction) float64 {
	if queued.known {
		return seen.usableFromWait(a, used, queued.value)
	}
	return seen.usableFromPeers(a, used)
}

// part is a part of the time since the last decision, as far as it is known.
type fraction struct {
	value float64
	known bool
}

// alone goes by what the job does while it need not queue: then it runs, or waits for something else than a processor. A
// grant takes seconds to reach the kernel, but who has not got it yet queues.
func (seen observation) usableFromWait(a Account, used, queued float64) float64 {
	switch could := headroom * used / (1 - queued); {
	case queued > maxWait: // it could use more, nobody knows how much
		return seen.capped(growthStep * a.UsableCores)
	case used < underuse*a.GrantedCores, a.UsableCores > 0 && could > a.UsableCores:
		return seen.capped(max(could, a.Limit/100))
	}
	return a.UsableCores
}

// compared goes by what others do, where the kernel does not say who queues. Weights leave nothing idle that somebody
// wants: who used much less of its grant than others did of theirs, or than it could have on an idle node, waited for
// something else.
func (seen observation) usableFromPeers(a Account, used float64) float64 {
	switch grant := underuse * a.GrantedCores; {
	case used < grant && (seen.idle || used < grant*seen.topUse):
		return max(headroom*used, a.Limit/100)
	case a.UsableCores > 0 && used > fullUse*min(a.UsableCores, a.GrantedCores)*min(seen.topUse, 1): // all that it may: perhaps it could use more
		return seen.capped(growthStep * a.UsableCores)
	}
	return seen.capped(a.UsableCores)
}

// any is 0 for all there is or more.
func (seen observation) capped(cores float64) float64 {
	if cores >= seen.cores {
		return 0
	}
	return cores
}
