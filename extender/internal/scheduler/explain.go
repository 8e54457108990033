package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Explanation is why a pod was placed where it is, or why it was not placed.
type Explanation struct {
	Pod growth.PodRef `json:"pod"`
	// Memory is the memory requested on each of GPUs. A pod with limits only has Units instead; each node's device plugin
	// defines the size of a unit.
	Memory growth.MiB `json:"askedMiB"`
	Units  int        `json:"units,omitempty"`
	GPUs   int        `json:"gpus"`
	// Policy is the policy that scored. At is the start of the latest attempt.
	Policy string    `json:"policy"`
	At     time.Time `json:"at"`
	// Nodes are the considered nodes: the best first, then those without room, by name within equals.
	Nodes []NodeExplanation `json:"nodes"`
	// Bind is the result of Bind, nil if this replica has not bound the pod.
	Bind *BindExplanation `json:"bind,omitempty"`
}

// NodeExplanation is the part of one node.
type NodeExplanation struct {
	Node string `json:"node"`
	// Reason is why the pod does not fit. Unresolvable means that no eviction would help.
	Reason       string `json:"unfit,omitempty"`
	Unresolvable bool   `json:"unresolvable,omitempty"`
	// Scored is false for a node that fits and that the scheduler did not send to Prioritize: another plugin rejected it.
	Scored bool             `json:"scored"`
	Points int64            `json:"points"`
	Score  placement.Score  `json:"score"`
	GPUs   []GPUExplanation `json:"gpus,omitempty"`
}

// GPUExplanation is a GPU that the pod would get.
type GPUExplanation struct {
	GPU growth.GPU `json:"gpu"`
	Why string     `json:"why"`
	// Jobs are the predicted slowdowns, of the pod first; empty on an empty GPU and for policies without predictions.
	Jobs []JobExplanation `json:"jobs,omitempty"`
}

// JobExplanation is the predicted slowdown of one job on a GPU, with the pod there (After) and without (Before).
type JobExplanation struct {
	Pod       string            `json:"pod"`
	Kind      interference.Kind `json:"kind,omitempty"`
	Before    growth.Slowdown   `json:"before"`
	After     growth.Slowdown   `json:"after"`
	Deviation growth.Slowdown   `json:"deviation"`
	// Source is what After is based on.
	Source interference.Source `json:"source"`
}

// BindExplanation is the result of Bind.
type BindExplanation struct {
	At    time.Time       `json:"at"`
	Node  growth.NodeName `json:"node"`
	GPUs  []growth.GPU    `json:"gpus,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Explain repeats the latest decision about a pod, on the nodes that it was based on. It returns false if the decision log
// has none.
func (s *Scheduler) Explain(namespace, name string) (Explanation, bool) {
	d := s.decisions.named(namespace, name)
	if d == nil {
		return Explanation{}, false
	}
	e := Explanation{
		Pod:    d.pod.Ref,
		Memory: d.pod.Request.Memory,
		GPUs:   d.pod.Request.Count,
		Policy: s.PolicyName,
		At:     d.at,
		Nodes:  s.explainNodes(d),
	}
	if e.Memory == 0 {
		e.Units = d.pod.Request.Shape().Units
	}
	if b := d.bound; b != nil {
		e.Bind = &BindExplanation{At: b.at, Node: b.node}
		for _, share := range b.gpus {
			e.Bind.GPUs = append(e.Bind.GPUs, share.GPU)
		}
		if b.err != nil {
			e.Bind.Error = b.err.Error()
		}
	}
	return e, true
}

func (s *Scheduler) explainNodes(d *decision) []NodeExplanation {
	nodes := []NodeExplanation{}
	scored := map[growth.NodeName]bool{}
	for i, option := range placeAll(d.prioritized, d.pod, d.policy) {
		name := d.prioritized.Name(i)
		scored[name] = true
		nodes = append(nodes, s.explainNode(string(name), d.prioritized.Value(i), d, option))
	}
	for i := range d.filtered.Len() {
		name := d.filtered.Name(i)
		if !scored[name] {
			status := fit(d.filtered.Value(i), d.pod)
			nodes = append(nodes, NodeExplanation{Node: string(name), Reason: status.Reason, Unresolvable: status.Unresolvable})
		}
	}
	slices.SortFunc(nodes, func(a, b NodeExplanation) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), -cmp.Compare(a.Score, b.Score), cmp.Compare(a.Node, b.Node))
	})
	return nodes
}

// rank orders scored nodes before other nodes that fit, and these before nodes that do not fit.
func rank(n NodeExplanation) int {
	switch {
	case n.Scored:
		return 2
	case n.Reason == "":
		return 1
	}
	return 0
}

func (s *Scheduler) explainNode(name string, node *cache.NodeInfo, d *decision, o option) NodeExplanation {
	if !o.status.Fits() {
		return NodeExplanation{Node: name, Reason: o.status.Reason, Unresolvable: o.status.Unresolvable}
	}
	e := NodeExplanation{
		Node:   name,
		Scored: true,
		Points: o.points,
		Score:  o.choice.Score,
	}
	n := node.Without(d.pod.Ref.UID)
	for _, share := range o.choice.GPUs {
		for _, g := range n.GPUs {
			if g.UUID == share.GPU {
				e.GPUs = append(e.GPUs, s.explainGPU(g, d, d.pod.Request.Newcomer(n, share.Memory)))
			}
		}
	}
	return e
}

func (s *Scheduler) explainGPU(g placement.GPU, d *decision, job placement.Newcomer) GPUExplanation {
	e := GPUExplanation{GPU: g.UUID, Why: d.policy.Explain(g, job)}
	for _, predicted := range placement.Slowdowns(d.policy, g, job) {
		e.Jobs = append(e.Jobs, JobExplanation{
			Pod:       s.nameOf(predicted.Pod, d.pod.Ref),
			Kind:      predicted.Kind,
			Before:    predicted.Before.Mean,
			After:     predicted.After.Mean,
			Deviation: predicted.After.Deviation,
			Source:    predicted.Source,
		})
	}
	return e
}

// nameOf returns the name of a job's pod, or its UID if the pod is gone. The empty UID is that of the pod to be placed.
func (s *Scheduler) nameOf(pod growth.PodUID, placed growth.PodRef) string {
	if pod == "" {
		return placed.String()
	}
	if known, ok := s.Cache.Snapshot().Pods.Get(pod); ok {
		return known.Ref.String()
	}
	return string(pod)
}

// option is the best choice of GPUs on one node, and its points among all nodes.
type option struct {
	choice placement.Choice
	status placement.Status
	points int64
}

// placeAll chooses GPUs on each node, as Prioritize scores them.
func placeAll(nodes selection, pod request.Pod, policy placement.Policy) []option {
	options := make([]option, nodes.Len())
	var normalizer placement.Normalizer
	for i := range options {
		n, status := schedulable(nodes.Value(i), pod)
		if status.Fits() {
			options[i].choice, status = placement.Place(n, pod.Request, policy)
		}
		options[i].status = status
		if status.Fits() {
			normalizer.Add(options[i].choice.Score)
		}
	}
	for i, o := range options {
		if o.status.Fits() {
			options[i].points = normalizer.Points(o.choice.Score)
		}
	}
	return options
}
