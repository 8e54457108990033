package fairfinish

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Job is one job as it stands before a decision.
type Job struct {
	ID growth.PodUID
	// Counter is the CPU that the job has consumed in its life, as its cgroup counts it. A count that falls is a
	// container that started again: it counts from zero.
	Used growth.CoreSeconds
	// CPUWait is for how long, in its life, the job has been ready to run while others ran.
	CPUWait      growth.Seconds
	CPUWaitKnown bool
	// Remaining is the work to its end. A job for which it is not Known gets what fair sharing gives it.
	Remaining remaining.Estimate
	// ToTarget is the work until its metric is at 95 % of its final value; Known and 0 once it is. Foretold says that another job
	// tells it, and not a beginning.
	ToTarget          remaining.Estimate
	TargetFromSimilar bool
	// Weight is the job's part of a fair division relative to others', 0.001 to 1000; 0 means 1.
	Weight float64
	// Limit is the most CPU that the job can use at once; 0 means all there is.
	Limit growth.MilliCPU
	// Finished says that the job has ended and appears for the last time, with its last Used. A job that is missing
	// has ended too, at what was last seen of it.
	Finished bool
}

// State is what must survive between decisions, as JSON if need be. The zero value is a node without jobs.
type State struct {
	At time.Time `json:"at"`
	// Served is the part of Config.Cores that the jobs could really have when last they wanted all of it; 0 before that.
	// Others may run on the node, and what these use shifts from second to second.
	Served float64 `json:"served,omitempty"`
	// Accounts are those of the jobs that run, and of those that have ended but would still run under fair sharing.
	Accounts map[growth.PodUID]Account `json:"accounts"`
}

// next is the state at now: what was used is charged, fair sharing has gone on, jobs have come and gone.
func (s State) next(c Config, now time.Time, jobs []Job) State {
	elapsed := max(0, now.Sub(s.At).Seconds()) // a clock that has gone back tells nothing
	seen := s.observe(c, jobs, elapsed)
	n := State{At: now, Served: seen.cores / c.Cores.Cores(), Accounts: make(map[growth.PodUID]Account, len(jobs))}
	for id, a := range s.Accounts {
		a.Age += growth.Seconds(elapsed)
		n.Accounts[id] = a
	}
	// 1. What happened to those that were here. Their sizes are those that are known now: what fair sharing would have
	// given (Fair) never jumps, only the end that it runs towards moves.
	present := make(map[growth.PodUID]bool, len(jobs))
	for _, j := range jobs {
		present[j.ID] = true
		if a, known := n.Accounts[j.ID]; known && !a.Ended {
			n.Accounts[j.ID] = a.update(j, seen)
		}
	}
	for id, a := range n.Accounts {
		a.Ended = a.Ended || !present[id]
		n.Accounts[id] = a
	}
	n.advanceFair(seen.cores, elapsed)
	// 2. Who has come begins now. Who has gone from both worlds is forgotten.
	for _, j := range jobs {
		if _, known := n.Accounts[j.ID]; !known && !j.Finished {
			n.Accounts[j.ID] = Account{Counter: j.Used}.update(j, observation{cores: seen.cores})
		}
	}
	for id, a := range n.Accounts {
		if a.Ended && !a.active() {
			delete(n.Accounts, id)
		}
	}
	return n
}

// sorted are the accounts that keep holds for, in the order of their identities.
func (s State) sorted(keep func(Account) bool) (ids []growth.PodUID, accounts []Account) {
	for id, a := range s.Accounts {
		if keep(a) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		accounts = append(accounts, s.Accounts[id])
	}
	return ids, accounts
}
