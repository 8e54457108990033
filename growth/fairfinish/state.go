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
	// Left is the work to its end. What is not Known gets its fair share, as it comes.
	Left remaining.Estimate
	// Need is the work until its metric is at 95 % of its final value; 0 once it is.
	Need remaining.Estimate
	// Weight is the job's part of a fair division relative to others; 0 means 1.
	Weight float64
	// Limit is the most CPU that the job can use at once; 0 means all there is.
	Limit growth.MilliCPU
	// Finished says that the job has ended and appears for the last time, with its last Used. A job that is missing
	// has ended too, at what was last seen of it.
	Finished bool
}

// State is what must survive between decisions. It is a value: Decide returns the next one, and changes none. The zero
// value is a node without jobs. As JSON it lets a restarted coordinator go on.
type State struct {
	At time.Time `json:"at"`
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
	// Left is what was last predicted; exactly nothing for a job that has ended.
	Left   remaining.Estimate `json:"left"`
	Weight float64            `json:"weight"`
	// Limit is the most cores that the job can use.
	Limit float64 `json:"limit"`
	Ended bool    `json:"ended,omitempty"`
}

// size is the job's whole work as far as is known: at least, and most likely. Infinite when it is not known, or known
// wrongly, for the job has done it all and goes on.
func (a Account) size() (low, likely growth.CoreSeconds) {
	switch {
	case a.Ended:
		return a.Real, a.Real
	case !a.Left.Known || a.Left.Likely <= 0:
		return a.Real, growth.CoreSeconds(math.Inf(1))
	}
	return a.Real + max(0, min(a.Left.Low, a.Left.Likely)), a.Real + a.Left.Likely
}

// active tells whether the job would still run under fair sharing.
func (a Account) active() bool {
	_, likely := a.size()
	return a.Fair < likely-dust
}

// dust is work too small to matter: rounding.
const dust = 1e-9

// next is the state at now: fair sharing has gone on since, what was used is charged, jobs have come and gone.
func (s State) next(c Config, now time.Time, jobs []Job) State {
	n := State{At: now, Accounts: make(map[growth.PodUID]Account, len(jobs))}
	for id, a := range s.Accounts {
		n.Accounts[id] = a
	}
	// 1. Fair sharing went on with the jobs there were. Their sizes are those of now, where they are known better.
	present := make(map[growth.PodUID]bool, len(jobs))
	for _, j := range jobs {
		present[j.ID] = true
		if a, known := n.Accounts[j.ID]; known && !a.Ended {
			n.Accounts[j.ID] = a.charged(c, j)
		}
	}
	for id, a := range n.Accounts {
		if !present[id] {
			a.Ended = true
			n.Accounts[id] = a
		}
	}
	n.share(c, now.Sub(s.At).Seconds())
	// 2. Who has arrived begins now; who has ended in both worlds is forgotten.
	for _, j := range jobs {
		if _, known := n.Accounts[j.ID]; !known && !j.Finished {
			a := Account{Arrived: now, Used: j.Used}
			n.Accounts[j.ID] = a.charged(c, j)
		}
	}
	for id, a := range n.Accounts {
		if a.Ended && !a.active() {
			delete(n.Accounts, id)
		}
	}
	return n
}

// charged takes in what is known of the job now.
func (a Account) charged(c Config, j Job) Account {
	a.Real += j.Used
	if j.Used >= a.Used {
		a.Real -= a.Used
	}
	a.Used, a.Left, a.Ended = j.Used, j.Left, j.Finished
	a.Weight, a.Limit = 1, c.Cores.Cores()
	if j.Weight > 0 {
		a.Weight = j.Weight
	}
	if j.Limit > 0 {
		a.Limit = min(a.Limit, j.Limit.Cores())
	}
	return a
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
