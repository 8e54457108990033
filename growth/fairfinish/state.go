package fairfinish

import (
	"math"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Job is one job as it stands before a decision.
type Job struct {
	ID growth.PodUID
	// Used is the CPU that the job has consumed in its life, as its cgroup counts it. A count that falls is a
	// container that started again: it counts from zero.
	Used growth.CoreSeconds
	// Queued is for how long, in its life, the job has been ready to run while others ran.
	Queued      growth.Seconds
	QueuedKnown bool
	// Left is the work to its end. A job for which it is not Known gets what fair sharing gives it.
	Left remaining.Estimate
	// Need is the work until its metric is at 95 % of its final value; Known and 0 once it is. Foretold says that another job
	// tells it, and not a beginning.
	Need     remaining.Estimate
	Foretold bool
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

// Account is what one job has had, and what fair sharing would have given it.
type Account struct {
	Arrived time.Time `json:"arrived"`
	// Fair is the work it would have done under fair sharing since it arrived, Real what it has done.
	Fair growth.CoreSeconds `json:"fair"`
	Real growth.CoreSeconds `json:"real"`
	// Used is the counter that Real was last read from.
	Used growth.CoreSeconds `json:"used"`
	// Queued is the job's counter of that name, as last read.
	Queued      growth.Seconds `json:"queued,omitempty"`
	QueuedKnown bool           `json:"queuedKnown,omitempty"`
	// Left is what was last predicted.
	Left   remaining.Estimate `json:"left"`
	Weight float64            `json:"weight"`
	// Limit is the most cores that the job can use: declared, and learned from what it left unused.
	Limit float64 `json:"limit"`
	// Granted is what the last decision gave it, Usable what it was seen to be able to use, in cores.
	Granted float64 `json:"granted,omitempty"`
	Usable  float64 `json:"usable,omitempty"`
	Ended   bool    `json:"ended,omitempty"`
}

// dust is work, in core-seconds, too small to matter: rounding.
const dust = 1e-9

// size is the job's whole work: at least, and most likely. It is infinite where it is not known.
func (a Account) size() (low, likely growth.CoreSeconds) {
	switch {
	case a.Ended:
		return a.Real, a.Real
	case !sane(a.Left) || a.Left.Likely <= 0: // a job that goes on after its end has another one
		return a.Real, growth.CoreSeconds(math.Inf(1))
	}
	return a.Real + max(0, min(a.Left.Low, a.Left.Likely)), a.Real + a.Left.Likely
}

func sane(e remaining.Estimate) bool {
	return e.Known && e.Likely >= 0 && !math.IsInf(float64(e.Likely), 1) && !math.IsNaN(float64(e.Low))
}

// active tells whether the job would still run under fair sharing.
func (a Account) active() bool {
	_, likely := a.size()
	return a.Fair < likely-dust
}

// next is the state at now: what was used is charged, fair sharing has gone on, jobs have come and gone.
func (s State) next(c Config, now time.Time, jobs []Job) State {
	elapsed := now.Sub(s.At).Seconds()
	seen := s.look(c, jobs, elapsed)
	n := State{At: now, Served: seen.cores / c.Cores.Cores(), Accounts: make(map[growth.PodUID]Account, len(jobs))}
	for id, a := range s.Accounts {
		n.Accounts[id] = a
	}
	// 1. What happened to those that were here. Their sizes are those that are known now: what fair sharing would have
	// given (Fair) never jumps, only the end that it runs towards moves.
	present := make(map[growth.PodUID]bool, len(jobs))
	for _, j := range jobs {
		present[j.ID] = true
		if a, known := n.Accounts[j.ID]; known && !a.Ended {
			n.Accounts[j.ID] = a.charged(j, seen)
		}
	}
	for id, a := range n.Accounts {
		a.Ended = a.Ended || !present[id]
		n.Accounts[id] = a
	}
	n.share(seen.cores, elapsed)
	// 2. Who has come begins now. Who has gone from both worlds is forgotten.
	for _, j := range jobs {
		if _, known := n.Accounts[j.ID]; !known && !j.Finished {
			n.Accounts[j.ID] = Account{Arrived: now, Used: j.Used}.charged(j, sight{cores: seen.cores})
		}
	}
	for id, a := range n.Accounts {
		if a.Ended && !a.active() {
			delete(n.Accounts, id)
		}
	}
	return n
}

// charged takes in what is known of a job now.
func (a Account) charged(j Job, seen sight) Account {
	used, counter := a.since(j)
	queued := a.queued(j, seen.seconds)
	a.Real, a.Used, a.Left, a.Ended = a.Real+used, counter, j.Left, j.Finished
	a.Queued, a.QueuedKnown = j.Queued, j.QueuedKnown
	a.Weight, a.Limit = 1, seen.cores
	if j.Weight > 0 {
		a.Weight = min(max(j.Weight, 0.001), 1000)
	}
	if j.Limit > 0 {
		a.Limit = min(a.Limit, j.Limit.Cores())
	}
	if seen.seconds > 0 {
		a.Usable = seen.usable(a, float64(used)/seen.seconds, queued)
	}
	if a.Usable > 0 {
		a.Limit = min(a.Limit, a.Usable)
	}
	return a
}

// since is what a job has used since it was last seen, and its counter now.
func (a Account) since(j Job) (used, counter growth.CoreSeconds) {
	switch {
	case !(j.Used >= 0) || math.IsInf(float64(j.Used), 1): // nothing that could be read
		return 0, a.Used
	case j.Used < a.Used:
		return j.Used, j.Used
	}
	return j.Used - a.Used, j.Used
}

// queued is for which part of the time since it was last seen the job has stood in the queue.
func (a Account) queued(j Job, seconds float64) part {
	since := float64(j.Queued - a.Queued)
	if !a.QueuedKnown || !j.QueuedKnown || seconds <= 0 || !(since >= 0) {
		return part{}
	}
	return part{min(since/seconds, 1), true}
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
