package node

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// TurnOf is one job that takes turns.
type TurnOf struct {
	Pod    growth.PodRef  `json:"pod"`
	GPUs   []growth.GPU   `json:"gpus"`
	Share  growth.Share   `json:"share"`
	Held   growth.Seconds `json:"heldSeconds"`
	Waited growth.Seconds `json:"waitedSeconds"`
	// HeldShare is as in bus.GPUTime.
	HeldShare growth.Share `json:"heldShare"`
	// State is a word of turn.State; empty if unknown. The other fields are as in turn.Status.
	State    string         `json:"state,omitempty"`
	Position int            `json:"position,omitempty"`
	Quantum  growth.Seconds `json:"quantumSeconds,omitempty"`
	Left     growth.Seconds `json:"leftSeconds,omitempty"`
	Behind   growth.Seconds `json:"behindSeconds,omitempty"`
}

// turn returns what a decision knows of the job's turns.
func (g gpuJob) turn() TurnOf {
	return TurnOf{
		Pod:       g.pod.Ref,
		GPUs:      g.gpus,
		Share:     g.gpu.share,
		Held:      g.gpu.seen.Held,
		Waited:    g.gpu.seen.Waited,
		HeldShare: g.gpu.recent.held,
	}
}

// Order adds what the jobs do at present, and sorts them in the order of their turns.
func (e *GPUExplanation) Order(now []turn.Status) {
	ordered := make([]TurnOf, 0, len(e.Turns))
	rest := slices.Clone(e.Turns)
	for _, status := range now {
		i := slices.IndexFunc(rest, func(t TurnOf) bool { return t.Pod.UID == status.Job })
		if i < 0 {
			continue
		}
		t := rest[i]
		rest = slices.Delete(rest, i, i+1)
		t.State = status.State.String()
		t.Position = status.Position
		t.Quantum = growth.Seconds(status.Quantum.Seconds())
		t.Left = growth.Seconds(status.Left.Seconds())
		t.Behind = growth.Seconds(status.Behind.Seconds())
		ordered = append(ordered, t)
	}
	e.Turns = append(ordered, rest...)
}
