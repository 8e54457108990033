package node

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/resize"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// stateVersion is the version of the encoded states below. A state of another version is not read.
const stateVersion = 1

// errStateVersion is for a state of an unknown version.
var errStateVersion = errors.New("unknown version of a node's state")

// jobState is the state of the decisions about a job, for a restart of the coordinator. It is the field State of a
// sample: JSON that no other program reads.
type jobState struct {
	Version int `json:"v"`
	// History is the classifier's memory.
	History *efficiency.State `json:"history,omitempty"`
	Work    *workState        `json:"work,omitempty"`
	// Trial is absent for a job whose batch size is not tuned.
	Trial *trial.State `json:"batchTrial,omitempty"`
}

// workState is the measured work of a job.
type workState struct {
	// Start is the CPU used before the first step, StepCost that of a step, StepSpread the uncertainty of StepCost.
	Start      growth.CoreSeconds `json:"start,omitempty"`
	StepCost   growth.CoreSeconds `json:"stepCost,omitempty"`
	StepSpread growth.CoreSeconds `json:"stepSpread,omitempty"`
	// Curve is the metric against the steps since the job started.
	Curve *remaining.Curve `json:"curveBySteps,omitempty"`
	// Fair is the job's part of the state of policy.Harmless.
	Fair *fairfinish.State `json:"fair,omitempty"`
}

// nodeState is the state of the decisions about the whole node, for a restart of the coordinator.
type nodeState struct {
	Version  int                              `json:"v"`
	Fair     fairfinish.State                 `json:"fair"`
	Refusals map[growth.PodUID]resize.Refusal `json:"refusals,omitempty"`
	Ended    []Run                            `json:"ended,omitempty"`
}

// stateOf decodes the state in a sample. The previous release had its parts as fields of the sample itself, which this
// build does not know and keeps as unknown ones.
func stateOf(s bus.Sample) (jobState, error) {
	var state jobState
	if s.State != nil {
		err := decodeState(s.State, &state)
		return state, err
	}
	for name, into := range map[string]any{"history": &state.History, "work": &state.Work, "batchTrial": &state.Trial} {
		if raw, ok := s.Unknown[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return jobState{}, fmt.Errorf("decoding the %s of %s: %w", name, s.Pod, err)
			}
		}
	}
	return state, nil
}

// decodeState decodes a state of this build's version.
func decodeState(raw json.RawMessage, into any) error {
	var head struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("decoding a node's state: %w", err)
	}
	if head.Version != stateVersion {
		return fmt.Errorf("%w: %d, this build knows %d", errStateVersion, head.Version, stateVersion)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decoding a node's state: %w", err)
	}
	return nil
}
