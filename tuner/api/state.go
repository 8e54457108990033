package api

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// State is all that the tuner knows at one instant.
type State struct {
	Synced      bool     `json:"synced"`
	Error       string   `json:"error,omitempty"`
	Undecodable []string `json:"refused,omitempty"`
	Nodes       []Node   `json:"nodes"`
	Jobs        []Job    `json:"jobs"`
}

// Node is one node, with what its device plugin and its coordinator publish.
type Node struct {
	Node growth.NodeName `json:"node"`
	GPUs *bus.NodeGPUs   `json:"gpus"`
	Load *bus.NodeLoad   `json:"load"`
}

// Job is a job as its coordinator sees it, with the advice in force.
type Job struct {
	Sample bus.Sample  `json:"sample"`
	Advice *bus.Advice `json:"advice"`
}
