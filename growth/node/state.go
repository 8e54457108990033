package node

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/corun"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/remaining"
	"github.com/trellis-gpu/trellis/growth/resize"
	"github.com/trellis-gpu/trellis/growth/trial"
)

// stateVersion is the version of the encoded states below. States of other versions are rejected.
const stateVersion = 1

// errStateVersion is returned for a state of another version.
var errStateVersion = errors.New("unknown version of a node's state")

// jobState is the state of a job that survives a restart of the coordinator. It is encoded as private JSON in the field
// State of a sample.
type jobState struct {
	Version int `json:"v"`
	// History is the state of the classifier.
	History *efficiency.State `json:"history,omitempty"`
	Work    *workState        `json:"work,omitempty"`
	// Lifetime is what the event about the job's end summarises.
	Lifetime *totals `json:"lifetime,omitempty"`
	// Trial is absent for a job whose batch size is not tuned.
	Trial *trial.State `json:"batchTrial,omitempty"`
}

// workState is what was learned about a job's work.
type workState struct {
	// Start is the work before the first step, StepCost the work of one step, StepSpread the uncertainty of StepCost.
	Start      growth.Work `json:"start,omitempty"`
	StepCost   growth.Work `json:"stepCost,omitempty"`
	StepSpread growth.Work `json:"stepSpread,omitempty"`
	// Curve is the metric over the steps since the job started.
	Curve *remaining.Curve `json:"curveBySteps,omitempty"`
	// Fair is the state of policy.Harmless, with the account of this job only.
	Fair *fairfinish.State `json:"fair,omitempty"`
	// GPU is the work on GPUs. The fields above are in core-seconds.
	GPU *gpuWork `json:"gpu,omitempty"`
}

// gpuWork is what was learned about a job's work on GPUs, in GPU-seconds.
type gpuWork struct {
	Start      growth.Work `json:"start,omitempty"`
	StepCost   growth.Work `json:"stepCost,omitempty"`
	StepSpread growth.Work `json:"stepSpread,omitempty"`
	// Exact is set if StepCost was measured without other jobs.
	Exact bool `json:"exact,omitempty"`
	// Fair has the account of this job only.
	Fair *fairfinish.State `json:"fair,omitempty"`
}

// nodeState is the state of the whole node that survives a restart of the coordinator.
type nodeState struct {
	Version  int                              `json:"v"`
	Fair     fairfinish.State                 `json:"fair"`
	GPUFair  *fairfinish.State                `json:"gpuFair,omitempty"`
	Computes bool                             `json:"computes,omitempty"` // as in InventoryChanged
	MPS      bool                             `json:"mps,omitempty"`      // likewise
	Refusals map[growth.PodUID]resize.Refusal `json:"refusals,omitempty"`
	Yields   map[growth.PodUID]yielded        `json:"yields,omitempty"`
	Ended    []Run                            `json:"ended,omitempty"`
	Speeds   *corun.Table                     `json:"speeds,omitempty"`
}

// stateOf decodes the state in a sample. Samples of the previous release have the parts of the state as fields of their
// own, which bus.Decode returns as unknown fields.
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

// decodeState decodes a state and checks its version.
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
