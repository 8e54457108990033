package gang

import "slices"

// Window returns the gangs that one pass decides about, and the last one that it took in turn. These are all gangs that hold
// room, since only a decision releases it, and up to n of the others. Those come in their order, starting after the last one of
// the pass before, so that a gang is considered however many earlier ones cannot be placed.
func Window(gangs []Gang, last Gang, n int) ([]Gang, Gang) {
	var chosen, others []Gang
	for _, g := range slices.SortedFunc(slices.Values(gangs), Compare) {
		if g.Holds() {
			chosen = append(chosen, g)
			continue
		}
		others = append(others, g)
	}
	after := slices.IndexFunc(others, func(g Gang) bool { return Compare(g, last) > 0 })
	after = max(after, 0) // none is later: from the beginning
	inTurn := slices.Concat(others[after:], others[:after])[:min(n, len(others))]
	if len(inTurn) > 0 {
		last = inTurn[len(inTurn)-1]
	}
	return append(chosen, inTurn...), last
}

// Holds reports whether the gang holds room, or has been placed.
func (g Gang) Holds() bool {
	return !g.State.Held.IsZero() || slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.Node != "" })
}
