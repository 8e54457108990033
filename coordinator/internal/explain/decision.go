package explain

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Explanation is what a job's share came of.
type Explanation struct {
	Pod      growth.PodRef   `json:"pod"`
	Node     string          `json:"node,omitempty"`
	Category growth.Category `json:"category"`
	Share    growth.Share    `json:"share"`
	// Request is the CPU request in force, Wanted the one decided last, Weight the cgroup's as read back.
	Request growth.MilliCPU `json:"cpuRequestMilli"`
	Wanted  growth.MilliCPU `json:"cpuWantedMilli"`
	Weight  int64           `json:"weight,omitempty"`
	// Fixed says why the job's CPU is left alone; empty for one that shares.
	Fixed string `json:"fixed,omitempty"`
	// Decisions are the last ones, the newest last.
	Decisions Ring `json:"decisions"`
}

// Decision is one, with what it was taken on.
type Decision struct {
	At      time.Time    `json:"at"`
	Policy  policy.Name  `json:"policy"`
	Because string       `json:"because"`
	Inputs  Inputs       `json:"inputs"`
	From    growth.Share `json:"from"`
	To      growth.Share `json:"to"`
	Reason  string       `json:"reason"`
	// Outcome is what became of it: "" while nothing had to change or nothing is known yet.
	Outcome string `json:"outcome,omitempty"`
}

// Inputs are what was known of the job.
type Inputs struct {
	Step       int64           `json:"step"`
	TotalSteps int64           `json:"totalSteps,omitempty"`
	Value      float64         `json:"value"`
	Growth     growth.Growth   `json:"growth"`
	Samples    int             `json:"samples"`
	Category   growth.Category `json:"category"`
	// Used is the CPU in the last interval, Limit the most that the job is thought to be able to use.
	Used  growth.MilliCPU `json:"cpuUsedMilli"`
	Limit growth.MilliCPU `json:"cpuLimitMilli,omitempty"`
	// Left is the work to the job's end, Need to the point where its metric is almost as good as it will be; Due is
	// when fair sharing would end the job, in seconds from the decision, 0 where that is not known. Like is the job that runs
	// the same and whose curve Need comes from; empty where it comes from its own.
	Left remaining.Estimate `json:"left,omitzero"`
	Need remaining.Estimate `json:"need,omitzero"`
	Like string             `json:"needLike,omitempty"`
	Due  growth.Seconds     `json:"dueSeconds,omitempty"`
	Late bool               `json:"late,omitempty"`
}

// remembered is how many decisions are kept of each job.
const remembered = 32

// Ring holds the last decisions about one job. What is decided again for the same reason and to the same end takes the place of
// the one before: a quiet hour must not push out what led to it.
type Ring []Decision

// Add takes in a decision.
func (d *Ring) Add(next Decision) {
	if last := len(*d) - 1; last >= 0 && (*d)[last].To == next.To && (*d)[last].From == next.From && (*d)[last].Reason == next.Reason {
		next.Outcome = (*d)[last].Outcome
		(*d)[last] = next
		return
	}
	if len(*d) >= remembered {
		*d = slices.Delete(*d, 0, len(*d)-remembered+1)
	}
	*d = append(*d, next)
}

// Outcome notes what became of the newest one.
func (d Ring) Outcome(what string) {
	if len(d) > 0 {
		d[len(d)-1].Outcome = what
	}
}
