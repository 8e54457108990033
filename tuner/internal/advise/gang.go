package advise

import (
	"slices"
)

// separate clears the gang of pods that are not one job after all: more processes report than the job has.
func separate(nodes []nodePlan) {
	ranks, worldSize := map[string]int{}, map[string]int{}
	for _, n := range nodes {
		for _, c := range n.candidates {
			gang := c.running.Gang
			ranks[gang] += max(1, c.Sample.Ranks)
			worldSize[gang] = max(worldSize[gang], c.Sample.WorldSize)
		}
	}
	for _, n := range nodes {
		for i := range n.candidates {
			running := &n.candidates[i].running
			if size := worldSize[running.Gang]; size > 0 && ranks[running.Gang] > size {
				running.Gang = ""
			}
		}
	}
}

// connect groups nodes so that no gang has pods in two groups.
func connect(nodes []nodePlan) [][]nodePlan {
	var groups [][]nodePlan
	for _, n := range nodes {
		group := []nodePlan{n}
		groups = slices.DeleteFunc(groups, func(other []nodePlan) bool {
			if !slices.ContainsFunc(other, n.sharesGang) {
				return false
			}
			group = append(group, other...)
			return true
		})
		groups = append(groups, group)
	}
	return groups
}

// sharesGang reports whether a gang has pods on both nodes.
func (n nodePlan) sharesGang(other nodePlan) bool {
	return slices.ContainsFunc(n.candidates, func(a candidate) bool {
		return a.running.Gang != "" &&
			slices.ContainsFunc(other.candidates, func(b candidate) bool { return a.running.Gang == b.running.Gang })
	})
}
