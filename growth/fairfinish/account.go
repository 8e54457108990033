package fairfinish

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Account is what one job has had, and what fair sharing would have given it.
type Account struct {
	// Age is the time since it arrived, as decisions have counted it: a clock that is set changes nothing of it.
	Age growth.Seconds `json:"age,omitempty"`
	// FairWork is the work it would have done under fair sharing since it arrived, Real what it has done.
	FairWork growth.CoreSeconds `json:"fair"`
	RealWork growth.CoreSeconds `json:"real"`
	// Counter is the counter that Real was last read from.
	Counter growth.CoreSeconds `json:"used"`
	// CPUWait is the job's counter of that name, as last read.
	CPUWait      growth.Seconds `json:"queued,omitempty"`
	CPUWaitKnown bool           `json:"queuedKnown,omitempty"`
	// Remaining is what was last predicted.
	Remaining remaining.Estimate `json:"left"`
	Weight    float64            `json:"weight"`
	// Limit is the most cores that the job can use: declared, and learned from what it left unused.
	Limit float64 `json:"limit"`
	// GrantedCores is what the last decision gave it, Usable what it was seen to be able to use, in cores.
	GrantedCores float64 `json:"granted,omitempty"`
	UsableCores  float64 `json:"usable,omitempty"`
	Ended        bool    `json:"ended,omitempty"`
}

// dust is work, in core-seconds, too small to matter: rounding.
const epsilon = 1e-9

// size is the job's whole work: at least, and most likely. It is infinite where it is not known.
func (a Account) size() (low, likely growth.CoreSeconds) {
	switch {
	case a.Ended:
		return a.RealWork, a.RealWork
	case !valid(a.Remaining) || a.Remaining.Likely <= 0: // a job that goes on after its end has another one
		return a.RealWork, growth.CoreSeconds(math.Inf(1))
	}
	return a.RealWork + max(0, min(a.Remaining.Low, a.Remaining.Likely)), a.RealWork + a.Remaining.Likely
}

func valid(e remaining.Estimate) bool {
	return e.Known && e.Likely >= 0 && !math.IsInf(float64(e.Likely), 1) && !math.IsNaN(float64(e.Low))
}

// active tells whether the job would still run under fair sharing.
func (a Account) active() bool {
	_, likely := a.size()
	return a.FairWork < likely-epsilon
}

// charged takes in what is known of a job now.
func (a Account) update(j Job, seen observation) Account {
	used, counter := a.usedSince(j)
	queued := a.waitFraction(j, seen.seconds)
	a.RealWork, a.Counter, a.Remaining, a.Ended = a.RealWork+used, counter, j.Remaining, j.Finished
	a.CPUWait, a.CPUWaitKnown = j.CPUWait, j.CPUWaitKnown
	a.Weight, a.Limit = 1, seen.cores
	if j.Weight > 0 {
		a.Weight = min(max(j.Weight, 0.001), 1000)
	}
	if j.Limit > 0 {
		a.Limit = min(a.Limit, j.Limit.Cores())
	}
	if seen.seconds > 0 {
		a.UsableCores = seen.usable(a, float64(used)/seen.seconds, queued)
	}
	if a.UsableCores > 0 {
		a.Limit = min(a.Limit, a.UsableCores)
	}
	return a
}

// since is what a job has used since it was last seen, and its counter now.
func (a Account) usedSince(j Job) (used, counter growth.CoreSeconds) {
	switch {
	case !(j.Used >= 0) || math.IsInf(float64(j.Used), 1): // nothing that could be read
		return 0, a.Counter
	case j.Used < a.Counter:
		return j.Used, j.Used
	}
	return j.Used - a.Counter, j.Used
}

// queued is for which part of the time since it was last seen the job has stood in the queue.
func (a Account) waitFraction(j Job, seconds float64) fraction {
	since := float64(j.CPUWait - a.CPUWait)
	if !a.CPUWaitKnown || !j.CPUWaitKnown || seconds <= 0 || !(since >= 0) {
		return fraction{}
	}
	return fraction{min(since/seconds, 1), true}
}
