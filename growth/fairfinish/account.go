package fairfinish

import (
	"math"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Account records the work of one job on the real node and on the virtual one.
type Account struct {
	// Age is the time since the job's arrival, summed over decisions. Setting the clock does not change it.
	Age growth.Seconds `json:"age,omitempty"`
	// FairWork is the work the job would have done under fair sharing since its arrival.
	FairWork growth.Work `json:"fair"`
	// RealWork is the work the job has done since its arrival.
	RealWork growth.Work `json:"real"`
	// Counter is the job's CPU counter at the last decision.
	Counter growth.Work `json:"used"`
	// CPUWait is the job's counter of that name at the last decision. It is valid if CPUWaitKnown is set.
	CPUWait      growth.Seconds `json:"queued,omitempty"`
	CPUWaitKnown bool           `json:"queuedKnown,omitempty"`
	// Remaining is the last prediction of the job's remaining work.
	Remaining remaining.Estimate `json:"left"`
	// Doubtful is that of the job at the last decision.
	Doubtful bool    `json:"-"`
	Weight   float64 `json:"weight"`
	// Limit is the largest number of cores that the job can use, as declared and as learned from its usage.
	Limit float64 `json:"limit"`
	// GrantedCores is the grant of the last decision.
	GrantedCores float64 `json:"granted,omitempty"`
	// UsableCores is the learned part of Limit; 0 for no limit.
	UsableCores float64 `json:"usable,omitempty"`
	// Evidence is the time without waiting, in seconds, that UsableCores of a job on GPUs comes from.
	Evidence float64 `json:"evidence,omitempty"`
	// On lists the GPUs that the job uses at the same time; empty if cores are divided.
	On []growth.GPU `json:"on,omitempty"`
	// Speedup is that of the last decision.
	Speedup float64 `json:"speedup,omitempty"`
	// Overlap is that of the last decision.
	Overlap Overlap `json:"overlap,omitzero"`
	// Starting is set until a job on GPUs has used or awaited them for the first time (starting.go).
	Starting bool `json:"starting,omitempty"`
	// Idle is the time since the last decision in which it did not, in seconds: fair sharing passes it over.
	Idle float64 `json:"-"`
	// Paused is set if the job has been paused since the last decision.
	Paused bool `json:"paused,omitempty"`
	// Ended is set once the job has ended on the real node.
	Ended bool `json:"ended,omitempty"`
}

// epsilon is an amount of work that is attributed to rounding.
const epsilon = 1e-9

// size returns a lower bound of the job's whole work and its likely value. The likely value of an unknown size is
// infinite.
func (a Account) size() (low, likely growth.Work) {
	switch {
	case a.Ended:
		return a.RealWork, a.RealWork
	case a.Doubtful || !Sized(a.Remaining):
		return a.RealWork, growth.Work(math.Inf(1))
	}
	low = a.RealWork + max(0, min(a.Remaining.Low, a.Remaining.Likely))
	return low, a.RealWork + a.Remaining.Likely
}

// Sized reports whether a job with this remaining work has a known size. A job that runs past its predicted end has none.
func Sized(e remaining.Estimate) bool { return valid(e) && e.Likely > 0 }

func valid(e remaining.Estimate) bool {
	return e.Known && e.Likely >= 0 && !math.IsInf(float64(e.Likely), 1) && !math.IsNaN(float64(e.Low))
}

// active reports whether the job still runs on the virtual node.
func (a Account) active() bool {
	if a.Paused {
		return false
	}
	_, likely := a.size()
	return a.FairWork < likely-epsilon
}

// update returns the account after a job's latest measurements.
func (a Account) update(j Job, seen observation) Account {
	used, counter := a.usedSince(j)
	wait := a.waitFraction(j, seen.seconds)
	a.start(j, float64(used), seen.elapsed)
	a.RealWork += used
	a.Counter = counter
	a.Remaining, a.Doubtful = j.Remaining, j.Doubtful
	a.On, a.Speedup, a.Overlap = j.On, j.Speedup, j.Overlap
	a.Ended = j.Finished
	a.CPUWait, a.CPUWaitKnown = j.CPUWait, j.CPUWaitKnown
	a.Weight = 1
	if j.Weight > 0 {
		a.Weight = min(max(j.Weight, 0.001), 1000)
	}
	a.Limit = seen.cores
	if j.Limit > 0 {
		a.Limit = min(a.Limit, j.Limit.Cores())
	}
	switch onGPUs := len(a.On) > 0; {
	case a.Paused: // how much it used shows nothing
	case onGPUs && wait.known && seen.seconds > 0:
		a.learnUsable(seen.seconds, float64(used)/seen.seconds, wait.value)
	case seen.seconds > 0:
		a.UsableCores = seen.usable(a, float64(used)/seen.seconds, wait)
	}
	if a.UsableCores > 0 {
		a.Limit = min(a.Limit, a.UsableCores)
	}
	if j.Paused {
		a.GrantedCores = 0
	}
	return a
}

// usedSince returns the work of the job since the last decision, and its CPU counter now.
func (a Account) usedSince(j Job) (used, counter growth.Work) {
	switch {
	case !(j.Used >= 0) || math.IsInf(float64(j.Used), 1): // the counter could not be read
		return 0, a.Counter
	case j.Used < a.Counter: // the container has restarted
		return j.Used, j.Used
	}
	return j.Used - a.Counter, j.Used
}

// waitFraction returns the fraction of the time since the last decision in which the job waited for a CPU.
func (a Account) waitFraction(j Job, seconds float64) fraction {
	since := float64(j.CPUWait - a.CPUWait)
	if !a.CPUWaitKnown || !j.CPUWaitKnown || seconds <= 0 || !(since >= 0) {
		return fraction{}
	}
	return fraction{value: min(since/seconds, 1), known: true}
}
