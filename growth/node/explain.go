package node

import (
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/peaks"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// Explanation explains a job's share to an operator.
type Explanation struct {
	Pod      growth.PodRef   `json:"pod"`
	Node     string          `json:"node,omitempty"`
	Category growth.Category `json:"category"`
	Share    growth.Share    `json:"share"`
	// Request is the CPU request in force, Wanted the last decided one. Weight is the CPU weight read from the cgroup.
	Request growth.MilliCPU `json:"cpuRequestMilli"`
	Wanted  growth.MilliCPU `json:"cpuWantedMilli"`
	Weight  int64           `json:"weight,omitempty"`
	// Fixed is the reason why the job's CPU is not tuned. It is empty for a job that shares the pool.
	Fixed string `json:"fixed,omitempty"`
	// Decisions are the last decisions about the CPU, newest last.
	Decisions DecisionLog `json:"decisions"`
	// Deadline is the status of the deadline of the job's user; nil if there is none.
	Deadline *bus.Deadline `json:"deadline,omitempty"`
	// GPUMemory is what the job has used on each GPU at most, RecommendedGPUMemory what the tuner recommends to request there. They
	// are nil if that is unknown.
	GPUMemory            *bus.GPUMemory `json:"gpuMemory,omitempty"`
	RecommendedGPUMemory *peaks.Request `json:"recommendedGPUMemoryMiB,omitempty"`
	// GPU is the part of the time of GPUs. It is nil where that is not divided.
	GPU *GPUExplanation `json:"gpu,omitempty"`
	// WithoutGPU is the reason why GPU is nil.
	WithoutGPU string `json:"withoutGPU,omitempty"`
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
	// Outcome is the effect of the decision. It is empty if nothing had to change, or while the effect is unknown.
	Outcome string `json:"outcome,omitempty"`
}

// Inputs are what was known about the job at a decision.
type Inputs struct {
	Step       int64           `json:"step"`
	TotalSteps int64           `json:"totalSteps,omitempty"`
	Value      float64         `json:"value"`
	Growth     growth.Growth   `json:"growth"`
	Samples    int             `json:"samples"`
	Category   growth.Category `json:"category"`
	// Used is the mean usage in the last interval, in thousandths of a core, or of a GPU if Unit is growth.GPUSecond.
	// Limit is an estimate of the most that the job can use.
	Unit  growth.Unit     `json:"unit,omitempty"`
	Used  growth.MilliCPU `json:"cpuUsedMilli"`
	Limit growth.MilliCPU `json:"cpuLimitMilli,omitempty"`
	// Remaining is the work to the job's end, ToTarget the work until its metric reaches its target. SimilarJobs names
	// the jobs from which ToTarget is predicted. It is empty if the prediction uses the job's own curve.
	Remaining   remaining.Estimate `json:"left,omitzero"`
	ToTarget    remaining.Estimate `json:"need,omitzero"`
	SimilarJobs string             `json:"needLike,omitempty"`
	// SimilarFrom says where the runs are from that the predictions are based on: this node, or how many nodes of the cluster.
	SimilarFrom string `json:"needFrom,omitempty"`
	// FairFinish is the time until fair sharing would end the job, from the decision; 0 if unknown. Overdue is set if
	// fair sharing would have ended the job before the decision.
	FairFinish growth.Seconds `json:"dueSeconds,omitempty"`
	Overdue    bool           `json:"late,omitempty"`
}

// maxDecisions is the number of decisions that are kept for each job.
const maxDecisions = 32

// DecisionLog has the last decisions about one job. A decision with the same reason and shares as the last one replaces
// it, so repeated decisions do not displace earlier ones.
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
	if len(*d) >= maxDecisions {
		*d = slices.Delete(*d, 0, len(*d)-maxDecisions+1)
	}
	*d = append(*d, next)
}

// SetOutcome sets the outcome of the newest decision.
func (d DecisionLog) SetOutcome(outcome string) {
	if len(d) > 0 {
		d[len(d)-1].Outcome = outcome
	}
}

// Explain explains the share of a pod, given as namespace/name. ok is false if the node has no such job.
func (n *Node) Explain(pod string) (e Explanation, ok bool) {
	for _, j := range n.jobs {
		if j.pod.Ref.String() == pod {
			return n.explain(j), true
		}
	}
	return Explanation{}, false
}

func (n *Node) explain(j *job) Explanation {
	return Explanation{
		Pod:       j.pod.Ref,
		Category:  j.category,
		Share:     j.share,
		Request:   j.pod.Total(j.pod.Allocated()),
		Wanted:    j.wantedTotal(),
		Weight:    j.usage.Weight,
		Fixed:     j.fixed(),
		Decisions: slices.Clone(j.decisions),
		Deadline:  n.deadlineStatus(j),
		GPUMemory: j.gpuMemoryPeak(),
		GPU:       n.explainGPU(j),

		RecommendedGPUMemory: n.recommendedGPUMemory(j),
		WithoutGPU:           n.whyNoGPU(j),
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
