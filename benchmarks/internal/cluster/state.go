package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// The namespace and the service of Trellis.
const (
	Namespace = "trellis"
	Tuner     = "tuner"
)

// maxState bounds the tuner's answer, in bytes: a few thousand jobs.
const maxState = 32 << 20

// State is the tuner's view of the cluster.
type State struct {
	// Synced is false until the tuner has read the bus once. Error is why it cannot read it now.
	Synced bool
	Error  string
	Nodes  []NodeState
	Jobs   []JobState
	// Refused counts records of a version that this program does not know.
	Refused int
}

// NodeState is a node's inventory and load. Either is nil if its writer is down.
type NodeState struct {
	Name growth.NodeName
	GPUs *bus.NodeGPUs
	Load *bus.NodeLoad
}

// JobState is a job's latest sample and its advice, if any.
type JobState struct {
	Sample bus.Sample
	Advice *bus.Advice
}

// State reads the tuner's state.
func (c *Connection) State(ctx context.Context) (State, error) {
	body, err := c.Proxy(ctx, Namespace, Tuner, "http", "/api/v1/state")
	if err != nil {
		return State{}, fmt.Errorf("asking the tuner: %w", err)
	}
	defer body.Close()
	answer, err := io.ReadAll(io.LimitReader(body, maxState+1))
	if err != nil {
		return State{}, fmt.Errorf("asking the tuner: %w", err)
	}
	return DecodeState(answer)
}

// DecodeState decodes the tuner's answer.
func DecodeState(answer []byte) (State, error) {
	if len(answer) > maxState {
		return State{}, fmt.Errorf("the tuner's answer is larger than %d bytes", maxState)
	}
	var wire struct {
		Synced bool   `json:"synced"`
		Error  string `json:"error"`
		Nodes  []struct {
			Node growth.NodeName `json:"node"`
			GPUs json.RawMessage `json:"gpus"`
			Load json.RawMessage `json:"load"`
		} `json:"nodes"`
		Jobs []struct {
			Sample json.RawMessage `json:"sample"`
			Advice json.RawMessage `json:"advice"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(answer, &wire); err != nil {
		return State{}, fmt.Errorf("the tuner's answer: %w", err)
	}
	state := State{Synced: wire.Synced, Error: wire.Error}
	for _, n := range wire.Nodes {
		state.Nodes = append(state.Nodes, NodeState{
			Name: n.Node,
			GPUs: record[bus.NodeGPUs](n.GPUs, &state.Refused),
			Load: record[bus.NodeLoad](n.Load, &state.Refused),
		})
	}
	for _, j := range wire.Jobs {
		if sample := record[bus.Sample](j.Sample, &state.Refused); sample != nil {
			state.Jobs = append(state.Jobs, JobState{Sample: *sample, Advice: record[bus.Advice](j.Advice, &state.Refused)})
		}
	}
	return state, nil
}

// record decodes one record of the bus. It returns nil for an absent record, and for one of an unknown version, which
// it counts.
func record[T any, R bus.Record[T]](raw json.RawMessage, refused *int) *T {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	value, err := bus.Decode[T, R](raw)
	if err != nil {
		*refused++
		return nil
	}
	return &value
}
