package node

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// Memory is the state that a coordinator saves on its node for the next one.
type Memory struct {
	// At is when the last decision was taken. If the clock is set before it is restored, the caller must translate it.
	At time.Time
	// Samples are also on the bus, which deletes them when a coordinator is gone for longer than its session.
	Samples []bus.Sample
	// State is the private state of the node as a whole, as JSON.
	State json.RawMessage
}

// Memory returns the memory to save now.
func (n *Node) Memory() (Memory, error) {
	state := nodeState{Version: stateVersion, Fair: n.fair, Refusals: map[growth.PodUID]resize.Refusal{}, Ended: n.endedRuns}
	m := Memory{At: n.fair.At}
	for _, j := range n.sorted() {
		uid := j.pod.Ref.UID
		if j.refusal.Times > 0 {
			state.Refusals[uid] = j.refusal
		}
		s, _, err := n.Sample(uid)
		if err != nil {
			return Memory{}, err
		}
		m.Samples = append(m.Samples, s)
	}
	var err error
	if m.State, err = json.Marshal(state); err != nil {
		return Memory{}, fmt.Errorf("encoding the state of the node: %w", err)
	}
	return m, nil
}

func (e MemoryRestored) apply(n *Node) {
	for _, s := range e.Memory.Samples {
		n.pastSamples[s.Pod.UID] = s
	}
	if e.Memory.State == nil {
		return
	}
	var state nodeState
	if err := decodeState(e.Memory.State, &state); err != nil {
		n.log(Warn, "starting without the memory of an earlier coordinator", "err", err.Error())
		return
	}
	n.fair, n.endedRuns = state.Fair, state.Ended
	n.fair.At = e.Memory.At
	for uid, refusal := range state.Refusals {
		n.pastRefusals[uid] = refusal
	}
}

// LegacyMemory converts the memory of the previous release, whose file has the parts of the state as fields of its own.
func LegacyMemory(fair, refusals, ended json.RawMessage) (json.RawMessage, time.Time, error) {
	var state nodeState
	for _, part := range []struct {
		raw  json.RawMessage
		into any
	}{{fair, &state.Fair}, {refusals, &state.Refusals}, {ended, &state.Ended}} {
		if part.raw == nil {
			continue
		}
		if err := json.Unmarshal(part.raw, part.into); err != nil {
			return nil, time.Time{}, fmt.Errorf("decoding the memory of the previous release: %w", err)
		}
	}
	state.Version = stateVersion
	raw, err := json.Marshal(state)
	return raw, state.Fair.At, err
}
