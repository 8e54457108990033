package loader

import (
	"maps"
	"math"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// maxCombinations bounds the combinations of workers that one pass of a search tries. Three jobs with up to 32 workers
// per device stay below it.
const maxCombinations = 1 << 16

// search looks for the best numbers of workers of the jobs that span nodes. If the combinations of all of them are too
// many, it improves two jobs at a time until no pair improves: the result is then a local optimum.
type search struct {
	names   []growth.NodeName
	budgets []int
	// local is the largest value of each node's own jobs, by the number of cores that they may use.
	local [][]float64
	// values is the value of each spanning job by its workers per device, widths its devices by node.
	values [][]float64
	widths [][]int

	workers, best []int
	bestValue     float64
}

func newSearch(nodes map[growth.NodeName]Node, spanning []Spanning) *search {
	s := &search{
		names:     slices.Sorted(maps.Keys(nodes)),
		workers:   make([]int, len(spanning)),
		best:      make([]int, len(spanning)),
		bestValue: math.Inf(-1),
	}
	for _, name := range s.names {
		s.budgets = append(s.budgets, max(0, nodes[name].Budget))
		s.local = append(s.local, valuesByCores(hulls(nodes[name].Jobs), nodes[name].Budget))
	}
	for _, job := range spanning {
		values := make([]float64, max(1, len(job.Curve.Hull())))
		for w := range values {
			values[w] = job.Value(w)
		}
		widths := make([]int, len(s.names))
		for i, name := range s.names {
			if width, ok := job.Widths[name]; ok {
				widths[i] = max(1, width)
			}
		}
		s.values = append(s.values, values)
		s.widths = append(s.widths, widths)
	}
	return s
}

// run sets best to the best numbers of workers.
func (s *search) run() {
	combinations := 1
	for _, values := range s.values {
		combinations = min(combinations*len(values), maxCombinations+1)
	}
	if combinations <= maxCombinations {
		s.try(indices(len(s.values)))
		return
	}
	for before := math.Inf(-1); s.bestValue > before || math.IsInf(before, -1); {
		before = s.bestValue
		for a := range s.values {
			for b := a + 1; b < len(s.values); b++ {
				copy(s.workers, s.best)
				s.try([]int{a, b})
			}
		}
	}
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// try tries all combinations of workers of the jobs with these indices. The other jobs keep theirs.
func (s *search) try(jobs []int) {
	if len(jobs) == 0 {
		if value := s.value(); value > s.bestValue {
			s.bestValue = value
			copy(s.best, s.workers)
		}
		return
	}
	job := jobs[0]
	for w := range s.values[job] {
		s.workers[job] = w
		s.try(jobs[1:])
	}
	s.workers[job] = 0
}

// value returns the total value with the present numbers of workers, or -∞ if a node has too few cores for them.
func (s *search) value() float64 {
	total := 0.0
	for i, w := range s.workers {
		total += s.values[i][w]
	}
	for node, values := range s.local {
		left := s.left(node, s.workers)
		if left < 0 {
			return math.Inf(-1)
		}
		total += values[min(left, len(values)-1)]
	}
	return total
}

// left returns the cores of a node that spanning jobs with these numbers of workers do not use.
func (s *search) left(node int, workers []int) int {
	left := s.budgets[node]
	for i, w := range workers {
		left -= w * s.widths[i][node]
	}
	return left
}
