package gang

import (
	"maps"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Decide decides about all gangs with a pod that is not bound, in their order. nodes are the nodes with everything that holds
// memory there, the gangs' own reservations included.
func (l Limits) Decide(
	now time.Time, gangs []Gang, nodes map[growth.NodeName]placement.Node, policy placement.Policy,
) []Decision {
	r := room{nodes: giveBack(gangs, nodes), policy: policy}
	var decisions []Decision
	for _, g := range slices.SortedFunc(slices.Values(gangs), Compare) {
		decisions = append(decisions, l.decide(now, g, r))
	}
	return decisions
}

// giveBack returns the nodes without the reservations of gangs that wait. Those of a gang that may be bound stay: some of its
// pods may be bound at this moment.
func giveBack(gangs []Gang, nodes map[growth.NodeName]placement.Node) map[growth.NodeName]placement.Node {
	free := maps.Clone(nodes)
	for _, g := range gangs {
		if g.Running() || g.full() {
			continue
		}
		for _, p := range g.Pods {
			if n, known := free[p.Node]; known {
				free[p.Node] = n.Without(p.UID)
			}
		}
	}
	return free
}

// decide decides about one gang, and takes its room.
func (l Limits) decide(now time.Time, g Gang, r room) Decision {
	if g.Running() {
		return Decision{Gang: g.Name, MayBind: true, Room: g.reserved(), Fit: len(g.Pods)}
	}
	d := Decision{Gang: g.Name, Missing: max(0, g.Size-len(g.Pods)), State: State{Rests: g.State.Rests, Barred: g.State.Barred}}
	chosen, left := g.reserved(), map[growth.NodeName]placement.Node{}
	if !g.full() {
		chosen, left = r.assign(g)
	}
	d.Fit = len(chosen)
	switch {
	case d.Missing == 0 && len(chosen) == len(g.Pods):
		d.State = l.full(now, g.State)
	case len(chosen) > 0:
		d.State = l.partial(now, g.State)
	}
	d.Expired = !g.State.Held.IsZero() && d.State.Rests.After(g.State.Rests)
	d.MayBind = !d.State.Full.IsZero()
	if !d.State.Held.IsZero() {
		d.Room = chosen
		maps.Copy(r.nodes, left)
	}
	return d
}

// full returns the state of a gang whose pods all fit.
func (l Limits) full(now time.Time, s State) State {
	if s.Barred && now.Before(s.Rests) {
		return State{Rests: s.Rests, Barred: true}
	}
	next := State{Held: s.Held, Full: s.Full}
	if next.Held.IsZero() {
		next.Held = now
	}
	if next.Full.IsZero() {
		next.Full = now
	}
	if now.Sub(next.Full) >= l.Hold || now.Sub(next.Held) >= l.Longest() {
		return State{Rests: now.Add(l.Rest), Barred: true}
	}
	return next
}

// partial returns the state of a gang of which some pods fit.
func (l Limits) partial(now time.Time, s State) State {
	switch {
	case now.Before(s.Rests):
		return State{Rests: s.Rests, Barred: s.Barred}
	case s.Held.IsZero():
		return State{Held: now}
	case now.Sub(s.Held) >= l.Hold:
		return State{Rests: now.Add(l.Rest)}
	}
	return State{Held: s.Held}
}

// Running reports whether a pod of the gang is bound: the gang has been placed.
func (g Gang) Running() bool {
	return slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.Bound })
}

// full reports whether all pods of the gang had room at the last decision, and have it still.
func (g Gang) full() bool {
	without := func(p Pod) bool { return p.Node == "" || !slices.Contains(p.Nodes, p.Node) }
	return !g.State.Full.IsZero() && len(g.Pods) >= g.Size && !slices.ContainsFunc(g.Pods, without)
}

// reserved returns the reservations that the gang has.
func (g Gang) reserved() map[growth.PodUID]growth.NodeName {
	reserved := map[growth.PodUID]growth.NodeName{}
	for _, p := range g.Pods {
		if p.Node != "" && !p.Bound {
			reserved[p.UID] = p.Node
		}
	}
	return reserved
}
