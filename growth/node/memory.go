package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/growth/resize"
)

// Memory is the state that a coordinator saves in a file on its node, for the next coordinator.
type Memory struct {
	// At is the time of the last decision. If the clock has been set since, the caller must translate it before it
	// restores the Memory.
	At time.Time
	// Samples are the published samples. The bus deletes them when the coordinator's lease expires.
	Samples []bus.Sample
	// State is the state of the whole node, as private JSON.
	State json.RawMessage
}

// Memory returns the state to save.
func (n *Node) Memory() (Memory, error) {
	state := nodeState{
		Version:  stateVersion,
		Fair:     n.fair,
		Refusals: map[growth.PodUID]resize.Refusal{},
		Yields:   map[growth.PodUID]yielded{},
		Ended:    n.endedRuns,
		Computes: n.computes,
		MPS:      n.sharedByMPS,
	}
	m := Memory{At: n.fair.At}
	if len(n.gpuFair.Accounts) > 0 {
		state.GPUFair = &n.gpuFair
		m.At = n.gpuFair.At
	}
	if len(n.speeds.Entries) > 0 {
		state.Speeds = &n.speeds
	}
	for _, j := range n.sorted() {
		uid := j.pod.Ref.UID
		if j.refusal.Times > 0 {
			state.Refusals[uid] = j.refusal
		}
		if j.yielded != nil {
			state.Yields[uid] = *j.yielded
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
		n.log(Warn, "starting without the state of an earlier coordinator", "err", err.Error())
		return
	}
	n.fair, n.endedRuns = state.Fair, state.Ended
	n.fair.At = e.Memory.At
	n.shareRuns(programs.ID{})
	n.computes, n.sharedByMPS = state.Computes, state.MPS // the inventory may come after the first decision
	if state.GPUFair != nil && n.dividesGPUs() {
		n.gpuFair = *state.GPUFair
		n.gpuFair.At = e.Memory.At
	}
	if state.Speeds != nil && state.Speeds.Valid() {
		n.speeds = *state.Speeds
	}
	maps.Copy(n.pastRefusals, state.Refusals)
	maps.Copy(n.pastYields, state.Yields)
}

// LegacyMemory converts the file of the previous release, which has the parts of the state as separate fields.
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
