package api

import (
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/deadline"
	"github.com/trellis-gpu/trellis/growth/goodput"
)

// State is the tuner's state at one instant.
type State struct {
	Synced      bool     `json:"synced"`
	Error       string   `json:"error,omitempty"`
	Undecodable []string `json:"refused,omitempty"`
	Nodes       []Node   `json:"nodes"`
	Jobs        []Job    `json:"jobs"`
}

// Node is a node, with the records of its device plugin and its coordinator.
type Node struct {
	Node growth.NodeName `json:"node"`
	GPUs *bus.NodeGPUs   `json:"gpus"`
	Load *bus.NodeLoad   `json:"load"`
}

// Job is a job as its coordinator reports it, with its current advice.
type Job struct {
	Sample bus.Sample  `json:"sample"`
	Advice *bus.Advice `json:"advice"`
	// Goodput has the predicted goodput by batch size; absent for a job without measurements or without a declared range.
	Goodput []goodput.Value `json:"goodput,omitempty"`
	// Elsewhere are other nodes on which a job at risk to miss its deadline would be in time with an equal part of a GPU or, where jobs
	// divide the CPU, of the CPU.
	Elsewhere []deadline.Spare `json:"elsewhere,omitempty"`
	// Pods are all pods of a job with several: on the entry of the pod whose curve is that of the job. PartOf is the UID of that
	// pod, on the entries of the others. Both are absent for a job with one pod.
	Pods   []Pod         `json:"pods,omitempty"`
	PartOf growth.PodUID `json:"partOf,omitempty"`
}

// Pod is a pod of a job with several.
type Pod struct {
	Pod  growth.PodRef   `json:"pod"`
	Node growth.NodeName `json:"node"`
	GPUs []growth.GPU    `json:"gpus,omitempty"`
}
