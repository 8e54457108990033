package gang

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// room is what gangs can get, after those that come first have got theirs.
type room struct {
	nodes  map[growth.NodeName]placement.Node
	policy placement.Policy
}

// assignment is the room of one gang.
type assignment struct {
	room
	chosen  map[growth.PodUID]growth.NodeName
	changed map[growth.NodeName]placement.Node
}

// Assign chooses one of its nodes for each pod that fits there together with the others. Pods that name a node come first.
func Assign(pods []Pod, nodes map[growth.NodeName]placement.Node, policy placement.Policy) map[growth.PodUID]growth.NodeName {
	chosen, _ := room{nodes, policy}.assign(Gang{Pods: pods})
	return chosen
}

// assign chooses a node for each pod of a gang that fits, and returns the nodes that this changes. A pod keeps the node that it
// has, if the scheduler still offers it: every other choice would release room for nothing.
func (r room) assign(g Gang) (map[growth.PodUID]growth.NodeName, map[growth.NodeName]placement.Node) {
	a := assignment{r, map[growth.PodUID]growth.NodeName{}, map[growth.NodeName]placement.Node{}}
	pods := slices.SortedFunc(slices.Values(g.Pods), func(x, y Pod) int { return cmp.Compare(x.UID, y.UID) })
	open := slices.DeleteFunc(pods, func(p Pod) bool {
		return p.Node != "" && slices.Contains(p.Nodes, p.Node) && a.take(p, p.Node)
	})
	for _, p := range open {
		if best := a.best(p); best != "" {
			a.take(p, best)
		}
	}
	return a.chosen, a.changed
}

// node returns a node without the room that the gang has got.
func (a assignment) node(name growth.NodeName) (placement.Node, bool) {
	if n, ok := a.changed[name]; ok {
		return n, true
	}
	n, known := a.nodes[name]
	return n, known
}

// best returns the node with the best score for a pod; empty if it fits none.
func (a assignment) best(p Pod) growth.NodeName {
	best, score := growth.NodeName(""), placement.Score(0)
	for _, name := range p.Nodes {
		n, known := a.node(name)
		if !known {
			continue
		}
		s, status := placement.ScoreNode(n, p.Request, a.policy)
		if !status.Fits() {
			continue
		}
		if best == "" || cmp.Or(cmp.Compare(s, score), cmp.Compare(best, name)) > 0 {
			best, score = name, s
		}
	}
	return best
}

// take gives a pod room on a node, and reports whether it fits.
func (a assignment) take(p Pod, name growth.NodeName) bool {
	n, known := a.node(name)
	if !known {
		return false
	}
	gpus := p.GPUs
	if p.Node != name || !placement.StillFits(n, p.Request, gpus) {
		choice, status := placement.Place(n, p.Request, a.policy)
		if !status.Fits() {
			return false
		}
		gpus = choice.GPUs
	}
	with, err := n.With(p.UID, gpus)
	if err != nil {
		return false
	}
	a.chosen[p.UID], a.changed[name] = name, with
	return true
}
