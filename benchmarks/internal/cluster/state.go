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

// Where Trellis lives in a cluster.
const (
	Namespace = "trellis"
	Tuner     = "tuner"
)

// maxState bounds the tuner's answer, in bytes: a few thousand jobs.
const maxState = 32 << 20

// State is what the tuner knows of the whole cluster.
type State struct {
	// Synced is false until the tuner has read the bus once; Error says why it can not just now.
	Synced bool
	Error  string
	Nodes  []NodeState
	Jobs   []JobState
	// Refused counts records of a version this program does not know.
	Refused int
}

// NodeState is a node's inventory and load. Either may be nil: its writer does not live.
type NodeState struct {
	Name growth.NodeName
	GPUs *bus.NodeGPUs
	Load *bus.NodeLoad
}

// JobState is a job's latest sample and the advice it was given, if any.
type JobState struct {
	Sample bus.Sample
	Advice *bus.Advice
}

// State asks the tuner.
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

// DecodeState reads the tuner's answer.
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

// record decodes one record of the bus; nil for one that is absent or of a version unknown here, which is counted.
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
