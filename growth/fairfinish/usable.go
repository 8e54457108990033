package fairfinish

const (
	// leaves is the part of its grant below which a job leaves CPU to others.
	leaves = 0.8
	// room is what a job is thought to be able to use, of what it did while it left CPU to others.
	room = 1.2
	// full is the part of what it was thought able to use from which it may well be able to use more: wider times that.
	full, wider = 0.95, 1.5
	// quiet is the part of the node in use below which nobody can have been held down.
	quiet = 0.3
	// crowded is the part of the time in the queue for a processor above which the rest is too little to tell anything by.
	crowded = 0.75
)

// sight is what the time since the last decision has shown of all jobs together.
type sight struct {
	// seconds is how long that was; 0 where it was too short to show anything.
	seconds float64
	// idle says that much of the node was not used: nobody was held down.
	idle bool
	// top is the greatest part of its grant that a job used. Where the node has less for the jobs than was thought, as
	// others run on it, even that is below 1.
	top float64
	// cores is what the jobs have together: what they used where they wanted all there is, else what was thought before.
	cores float64
}

// look compares what jobs used with what they were granted.
func (s State) look(c Config, jobs []Job, seconds float64) sight {
	cores := c.Cores.Cores()
	seen := sight{cores: cores}
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
		used, _ := a.since(j)
		sum += float64(used) / seconds
		wanted += a.Limit
		if a.GrantedCores > 0 {
			seen.top = max(seen.top, float64(used)/seconds/a.GrantedCores)
		}
	}
	seen.seconds, seen.idle = seconds, sum < quiet*cores
	if !seen.idle && wanted > seen.cores-dust {
		seen.cores = sum
	}
	return seen
}

// usable is the most cores that the job is believed to be able to use, after it has used some on average; 0 for any
// number.
func (seen sight) usable(a Account, used float64, queued part) float64 {
	if queued.known {
		return seen.alone(a, used, queued.of)
	}
	return seen.compared(a, used)
}

// part is a part of the time since the last decision, as far as it is known.
type part struct {
	of    float64
	known bool
}

// alone goes by what the job does while it need not queue: then it runs, or waits for something else than a processor. A
// grant takes seconds to reach the kernel, but who has not got it yet queues.
func (seen sight) alone(a Account, used, queued float64) float64 {
	switch could := room * used / (1 - queued); {
	case queued > crowded: // it could use more, nobody knows how much
		return seen.any(wider * a.UsableCores)
	case used < leaves*a.GrantedCores, a.UsableCores > 0 && could > a.UsableCores:
		return seen.any(max(could, a.Limit/100))
	}
	return a.UsableCores
}

// compared goes by what others do, where the kernel does not say who queues. Weights leave nothing idle that somebody
// wants: who used much less of its grant than others did of theirs, or than it could have on an idle node, waited for
// something else.
func (seen sight) compared(a Account, used float64) float64 {
	switch grant := leaves * a.GrantedCores; {
	case used < grant && (seen.idle || used < grant*seen.top):
		return max(room*used, a.Limit/100)
	case a.UsableCores > 0 && used > full*min(a.UsableCores, a.GrantedCores)*min(seen.top, 1): // all that it may: perhaps it could use more
		return seen.any(wider * a.UsableCores)
	}
	return seen.any(a.UsableCores)
}

// any is 0 for all there is or more.
func (seen sight) any(cores float64) float64 {
	if cores >= seen.cores {
		return 0
	}
	return cores
}
