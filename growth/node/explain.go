package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Explanation explains the share of a job.
type Explanation struct {
	Pod      growth.PodRef   `json:"pod"`
	Node     string          `json:"node,omitempty"`
	Category growth.Category `json:"category"`
	Share    growth.Share    `json:"share"`
	// Request is the CPU request in force, Wanted the one decided last, Weight the cgroup's as read back.
	Request growth.MilliCPU `json:"cpuRequestMilli"`
	Wanted  growth.MilliCPU `json:"cpuWantedMilli"`
	Weight  int64           `json:"weight,omitempty"`
	// Fixed is the reason why the job's CPU is not changed. It is empty for a job that shares.
	Fixed string `json:"fixed,omitempty"`
	// Decisions are the last ones, newest last.
	Decisions DecisionLog `json:"decisions"`
}

// Decision is one decision about a job, with its inputs.
type Decision struct {
	At      time.Time    `json:"at"`
	Policy  policy.Name  `json:"policy"`
	Because string       `json:"because"`
	Inputs  Inputs       `json:"inputs"`
	From    growth.Share `json:"from"`
	To      growth.Share `json:"to"`
	Reason  string       `json:"reason"`
	// Outcome is its effect. It is empty if nothing had to change, or while the effect is unknown.
	Outcome string `json:"outcome,omitempty"`
}

// Inputs are the known values of the job.
type Inputs struct {
	Step       int64           `json:"step"`
	TotalSteps int64           `json:"totalSteps,omitempty"`
	Value      float64         `json:"value"`
	Growth     growth.Growth   `json:"growth"`
	Samples    int             `json:"samples"`
	Category   growth.Category `json:"category"`
	// Used is the CPU in the last interval, Limit the most that the job is believed to be able to use.
	Used  growth.MilliCPU `json:"cpuUsedMilli"`
	Limit growth.MilliCPU `json:"cpuLimitMilli,omitempty"`
	// Left is the work to the job's end, Need the work until its metric reaches its target. Like names the similar jobs
	// that Need is predicted from; it is empty where the job's own curve predicts it.
	Left remaining.Estimate `json:"left,omitzero"`
	Need remaining.Estimate `json:"need,omitzero"`
	Like string             `json:"needLike,omitempty"`
	// Due is when fair sharing would end the job, in seconds from the decision. 0 means unknown. Late is set where fair
	// sharing would have ended it already.
	Due  growth.Seconds `json:"dueSeconds,omitempty"`
	Late bool           `json:"late,omitempty"`
}

// logged is the number of decisions kept per job.
const logged = 32

// DecisionLog holds the last decisions about one job. A decision with the same reason and shares as the last one
// replaces it, so that repetitions do not displace earlier decisions.
type DecisionLog []Decision

// Add appends a decision.
func (d *DecisionLog) Add(next Decision) {
	if last := len(*d) - 1; last >= 0 {
		before := (*d)[last]
		if before.To == next.To && before.From == next.From && before.Reason == next.Reason {
			next.Outcome = before.Outcome
			(*d)[last] = next
			return
		}
	}
	if len(*d) >= logged {
		*d = slices.Delete(*d, 0, len(*d)-logged+1)
	}
	*d = append(*d, next)
}

// SetOutcome sets the outcome of the newest decision.
func (d DecisionLog) SetOutcome(outcome string) {
	if len(d) > 0 {
		d[len(d)-1].Outcome = outcome
	}
}

// Explain explains the share of a pod, given as namespace/name. ok is false if no such job runs here.
func (n *Node) Explain(pod string) (e Explanation, ok bool) {
	for _, j := range n.jobs {
		if j.pod.Ref.String() == pod {
			return j.explain(), true
		}
	}
	return Explanation{}, false
}

func (j *job) explain() Explanation {
	return Explanation{
		Pod:       j.pod.Ref,
		Category:  j.category,
		Share:     j.share,
		Request:   j.pod.Allocated().Sum(),
		Wanted:    j.wanted.Sum(),
		Weight:    j.usage.Weight,
		Fixed:     j.fixed(),
		Decisions: slices.Clone(j.decisions),
	}
}

func (j *job) inputs() Inputs {
	return Inputs{
		Step:       j.latest.Step,
		TotalSteps: j.latest.TotalSteps,
		Value:      j.value,
		Growth:     j.reading.Growth,
		Samples:    j.reading.Samples,
		Category:   j.category,
		Used:       j.used,
	}
}
