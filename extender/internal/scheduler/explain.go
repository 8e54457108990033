package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Explanation says why a pod was placed as it was, or was not placed.
type Explanation struct {
	Pod growth.PodRef `json:"pod"`
	// Asked is the memory asked for on each of GPUs. A pod that asks by its limits alone has Units in its place: what a unit
	// is, each node's device plugin says.
	Asked growth.MiB `json:"askedMiB"`
	Units int        `json:"units,omitempty"`
	GPUs  int        `json:"gpus"`
	// Policy is the one that scored, At the beginning of the last try.
	Policy string    `json:"policy"`
	At     time.Time `json:"at"`
	// Nodes are those that were considered: the best first, then those without room, by name within equals.
	Nodes []ExplainedNode `json:"nodes"`
	// Bind is how binding ended, nil while this replica has not been asked to.
	Bind *ExplainedBind `json:"bind,omitempty"`
}

// ExplainedNode is one node's part.
type ExplainedNode struct {
	Node string `json:"node"`
	// Unfit says why the pod does not fit, Hopeless that no job's leaving would change it.
	Unfit    string `json:"unfit,omitempty"`
	Hopeless bool   `json:"hopeless,omitempty"`
	// Scored is false for a node that fits and that the scheduler did not ask to have rated: something else spoke against it.
	Scored bool            `json:"scored"`
	Points int64           `json:"points"`
	Score  placement.Score `json:"score"`
	GPUs   []ExplainedGPU  `json:"gpus,omitempty"`
}

// ExplainedGPU is a GPU that the pod would have been given.
type ExplainedGPU struct {
	GPU growth.GPU `json:"gpu"`
	Why string     `json:"why"`
}

// ExplainedBind is how binding ended.
type ExplainedBind struct {
	At    time.Time       `json:"at"`
	Node  growth.NodeName `json:"node"`
	GPUs  []growth.GPU    `json:"gpus,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Explain tells from the record of the last decision about a pod why each node fared as it did. It decides again, on what
// the decision was taken on. It returns false for a pod that there is no record of.
func (d *Decider) Explain(namespace, name string) (Explanation, bool) {
	p := d.Decisions.page(func(p *page) bool { return p.pod.Ref.Namespace == namespace && p.pod.Ref.Name == name })
	if p == nil {
		return Explanation{}, false
	}
	e := Explanation{Pod: p.pod.Ref, Asked: p.pod.Request.Memory, GPUs: p.pod.Request.Count, Policy: d.PolicyName, At: p.at, Nodes: []ExplainedNode{}}
	if e.Asked == 0 {
		e.Units = p.pod.Request.Shape().Units
	}
	rated := map[string]bool{}
	for i, found := range places(p.prioritized.nodes(), p.pod, d.Policy) {
		name := p.prioritized.name(i)
		rated[name] = true
		e.Nodes = append(e.Nodes, d.explain(name, p.prioritized.node(i), p.pod, found))
	}
	for i, here := range p.filtered.nodes() {
		if name := p.filtered.name(i); !rated[name] {
			misfit := fit(here, p.pod)
			e.Nodes = append(e.Nodes, ExplainedNode{Node: name, Unfit: misfit.Reason, Hopeless: misfit.Unresolvable})
		}
	}
	slices.SortFunc(e.Nodes, func(a, b ExplainedNode) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), -cmp.Compare(a.Score, b.Score), cmp.Compare(a.Node, b.Node))
	})
	if b := p.bound; b != nil {
		e.Bind = &ExplainedBind{At: b.at, Node: b.node}
		for _, share := range b.gpus {
			e.Bind.GPUs = append(e.Bind.GPUs, share.GPU)
		}
		if b.err != nil {
			e.Bind.Error = b.err.Error()
		}
	}
	return e, true
}

// rank puts nodes that were rated before those that fit, and these before those that do not.
func rank(n ExplainedNode) int {
	switch {
	case n.Scored:
		return 2
	case n.Unfit == "":
		return 1
	}
	return 0
}

func (d *Decider) explain(name string, here *cache.Node, pod request.Pod, found place) ExplainedNode {
	if !found.misfit.Fits() {
		return ExplainedNode{Node: name, Unfit: found.misfit.Reason, Hopeless: found.misfit.Unresolvable}
	}
	e := ExplainedNode{Node: name, Scored: true, Points: found.points, Score: found.choice.Score}
	n := here.Without(pod.Ref.UID)
	for _, share := range found.choice.GPUs {
		for _, g := range n.GPUs {
			if g.UUID == share.GPU {
				e.GPUs = append(e.GPUs, ExplainedGPU{GPU: g.UUID, Why: d.Policy.Explain(g, share.Memory, pod.Request.Count)})
			}
		}
	}
	return e
}
