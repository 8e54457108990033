package deadline

import (
	"cmp"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

const (
	// moveTime is allowed for a move to another node: save, evict, start and restore.
	moveTime growth.Seconds = 180
	// maxElsewhere bounds the nodes that Elsewhere names.
	maxElsewhere = 3
)

// Place is what the jobs of a node share: a GPU, or its CPU.
type Place struct {
	Node growth.NodeName
	// Capacity is what the jobs can use together, in thousandths of a GPU or of a core, and Jobs their number.
	Capacity growth.MilliCPU
	Jobs     int
}

// Spare is a node on which a job would be in time, and how long before its deadline.
type Spare struct {
	Node  growth.NodeName `json:"node"`
	Early growth.Seconds  `json:"earlySeconds"`
}

// Elsewhere returns the nodes on which a job would meet its deadline if it moved there now and got an equal part, the earliest first.
// work is the upper end of the interval of what is left, and usable the most that the job can use at once. Whether the job fits there is not
// asked. No job there would have to give way: each keeps its equal part.
func Elsewhere(work growth.Work, usable growth.MilliCPU, toDeadline growth.Seconds, places []Place) []Spare {
	if !(work >= 0) {
		return nil
	}
	best := map[growth.NodeName]growth.Seconds{}
	for _, p := range places {
		part := min(usable, p.Capacity/growth.MilliCPU(max(p.Jobs, 0)+1))
		if part <= 0 {
			continue
		}
		early := toDeadline - moveTime - growth.Seconds(float64(work)/part.Cores())
		if before, known := best[p.Node]; early >= 0 && (!known || early > before) {
			best[p.Node] = early
		}
	}
	var all []Spare
	for node, early := range best {
		all = append(all, Spare{Node: node, Early: early})
	}
	slices.SortFunc(all, func(a, b Spare) int { return cmp.Or(cmp.Compare(b.Early, a.Early), cmp.Compare(a.Node, b.Node)) })
	return all[:min(len(all), maxElsewhere)]
}
