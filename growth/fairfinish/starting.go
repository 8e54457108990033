package fairfinish

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
)

// A job that loads its program does not use its GPUs yet, and plain sharing gives their time to others. So does the virtual node: FairWork
// of a job on GPUs grows from its first use of them on, or from its first wait for them. Until then it would gain what it could not have
// done, at the expense of the others. Where CPU is divided there is no such time: loading needs it.

// leastStart is the time that a job still needs to load, at least, as long as it loads.
const leastStart = 5

// startsIn returns when a job is expected to use its GPUs for the first time, in seconds: after as long again as it has loaded.
func (a Account) startsIn() float64 {
	if !a.Starting {
		return 0
	}
	return math.Max(leastStart, float64(a.Age))
}

// fair returns the forecast of plain sharing that a job has its due from. If jobs that load started at once, the others would end later
// than they do, and would wait for that. A job that loads itself may use its GPUs at any time, and one of unknown size does not wait.
func (t *instance) fair(job int) forecast {
	if _, size := t.accounts[job].size(); t.accounts[job].Starting || math.IsInf(float64(size), 1) {
		return t.forecast
	}
	return t.loading
}

// starts reports whether a job that has arrived still has to use its GPUs. Of one whose waits are not known, it is not known either.
func (j Job) starts() bool {
	return len(j.On) > 0 && j.CPUWaitKnown && j.CPUWait == 0 && j.Used == 0
}

// start ends a job's start at its first use of its GPUs, or its first wait for them. That was as long ago as it has used and awaited them
// since the last decision, elapsed seconds ago.
func (a *Account) start(j Job, used, elapsed float64) {
	a.Idle = 0
	if !a.Starting {
		return
	}
	if j.starts() {
		a.Idle = math.Inf(1)
		return
	}
	a.Starting = false
	if waited := float64(j.CPUWait - a.CPUWait); j.CPUWaitKnown {
		a.Idle = max(0, elapsed-used/a.width()-max(0, waited))
	}
}

// passOver lets fair sharing advance by a step, in which it passes over jobs that start.
func (s State) passOver(step float64) {
	for id, a := range s.Accounts {
		if a.Idle > 0 {
			a.Idle -= step
			s.Accounts[id] = a
		}
	}
}

// nextStart returns when the next job starts, in seconds.
func (s State) nextStart() float64 {
	next := math.Inf(1)
	for _, a := range s.Accounts {
		if a.Idle > epsilon {
			next = min(next, a.Idle)
		}
	}
	return next
}

// shares reports whether the job takes part in fair sharing now.
func (a Account) shares() bool { return a.active() && a.Idle <= epsilon }

// started returns the state as if all jobs used their GPUs from now on.
func (s State) started() State {
	accounts := make(map[growth.PodUID]Account, len(s.Accounts))
	for id, a := range s.Accounts {
		a.Starting, a.Idle = false, 0
		accounts[id] = a
	}
	s.Accounts = accounts
	return s
}
