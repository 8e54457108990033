package loader

import (
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// maxCombinations bounds the combinations of workers that one pass of a search tries. Three jobs with up to 32 workers
// per device stay below it.
const maxCombinations = 1 << 16

// maxPasses bounds the passes over all pairs of jobs. Few improve anything; the bound is for values that differ by rounding only.
const maxPasses = 16

// search looks for the best numbers of workers of the jobs that span nodes. If the combinations of all of them are too
// many, it improves two jobs at a time until no pair improves: the result is then a local optimum.
type search struct {
	names []growth.NodeName
	// local is the largest value of each node's own jobs, by the number of cores that they may use.
	local [][]float64
	// values is the value of each spanning job by its workers per device, parts its devices.
	values [][]float64
	parts  [][]part

	// workers are the best numbers so far, or those that are tried. left is what they leave of each node's cores.
	workers, left []int
}

// part is the devices of a job on one node.
type part struct{ node, width int }

func newSearch(nodes map[growth.NodeName]Node, spanning []Spanning) *search {
	s := &search{names: slices.Sorted(maps.Keys(nodes)), workers: make([]int, len(spanning))}
	for _, name := range s.names {
		s.left = append(s.left, max(0, nodes[name].Budget))
		s.local = append(s.local, valuesByCores(hulls(nodes[name].Jobs), nodes[name].Budget))
	}
	for _, job := range spanning {
		values := make([]float64, max(1, len(job.Curve.Hull())))
		for w := range values {
			values[w] = job.Value(w)
		}
		var parts []part
		for name, width := range job.Widths {
			if node, known := slices.BinarySearch(s.names, name); known {
				parts = append(parts, part{node: node, width: max(1, width)})
			}
		}
		s.values = append(s.values, values)
		s.parts = append(s.parts, parts)
	}
	return s
}

// run sets workers to the best numbers of workers.
func (s *search) run() {
	combinations := 1
	for _, values := range s.values {
		combinations = min(combinations*len(values), maxCombinations+1)
	}
	if combinations <= maxCombinations {
		s.improve(indices(len(s.values))...)
		return
	}
	for range maxPasses {
		improved := false
		for a := range s.values {
			for b := a + 1; b < len(s.values); b++ {
				improved = s.improvePair(a, b) || improved
			}
		}
		if !improved {
			return
		}
	}
}

// improvePair improves two jobs. If they share no node, the best for each alone is the best for both.
func (s *search) improvePair(a, b int) bool {
	if slices.ContainsFunc(s.parts[a], func(p part) bool {
		return slices.ContainsFunc(s.parts[b], func(other part) bool { return p.node == other.node })
	}) {
		return s.improve(a, b)
	}
	first := s.improve(a)
	return s.improve(b) || first
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// nodesOf returns the nodes of jobs, in their order.
func (s *search) nodesOf(jobs ...int) (nodes []int) {
	for _, job := range jobs {
		for _, p := range s.parts[job] {
			nodes = append(nodes, p.node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// improve gives some jobs the best numbers of workers while the other jobs keep theirs. It reports whether these are better.
func (s *search) improve(jobs ...int) bool {
	t := trial{search: s, jobs: jobs, nodes: s.nodesOf(jobs...), best: make([]int, len(jobs))}
	t.keep(t.value())
	for _, job := range jobs {
		s.set(job, 0)
	}
	before := t.bestValue
	t.try(0)
	for i, job := range jobs {
		s.set(job, t.best[i])
	}
	return t.bestValue > before
}

// set gives a job a number of workers.
func (s *search) set(job, workers int) {
	for _, p := range s.parts[job] {
		s.left[p.node] -= (workers - s.workers[job]) * p.width
	}
	s.workers[job] = workers
}

// fits reports whether the nodes of a job have enough cores.
func (s *search) fits(job int) bool {
	return !slices.ContainsFunc(s.parts[job], func(p part) bool { return s.left[p.node] < 0 })
}

// trial is the search for the best numbers of workers of some jobs. Their nodes are the only ones whose value changes.
type trial struct {
	*search
	jobs, nodes []int
	best        []int // by index in jobs
	bestValue   float64
}

// keep remembers the present numbers of workers as the best.
func (t *trial) keep(value float64) {
	t.bestValue = value
	for i, job := range t.jobs {
		t.best[i] = t.workers[job]
	}
}

// try tries all combinations of workers that fit of the jobs from an index on, which have none before and after.
func (t *trial) try(from int) {
	if from == len(t.jobs) {
		if value := t.value(); value > t.bestValue {
			t.keep(value)
		}
		return
	}
	job := t.jobs[from]
	for w := range t.values[job] {
		if t.set(job, w); !t.fits(job) { // nor do more
			break
		}
		t.try(from + 1)
	}
	t.set(job, 0)
}

// value returns the value of the jobs, and of the own jobs of their nodes, with the present numbers of workers.
func (t *trial) value() float64 {
	total := 0.0
	for _, job := range t.jobs {
		total += t.values[job][t.workers[job]]
	}
	for _, node := range t.nodes {
		values := t.local[node]
		total += values[min(t.left[node], len(values)-1)]
	}
	return total
}
