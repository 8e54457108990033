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
