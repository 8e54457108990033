package deadlinesim

import (
	"math/rand/v2"
	"slices"
)

// The genetic algorithm of Qore-DL's CPU experiments: three bits for CPU and three for memory.
const (
	bits        = 3
	population  = 8
	generations = 4
	crossover   = 0.8
	mutation    = 0.003
)

// The ranges of a new size, relative to the present one, and their bounds, relative to the peaks.
var (
	growCPU, growMemory     = [2]float64{0.765, 1.36}, [2]float64{1, 1.4}
	shrinkCPU, shrinkMemory = [2]float64{0.5, 0.95}, [2]float64{0.725, 0.95}
)

const (
	mostCPU, mostMemory   = 2.01, 2.355
	leastCPU, leastMemory = 0.475, 1.03
)

// within maps a number of levels to a range.
func within(bounds [2]float64, n, levels int) float64 {
	return bounds[0] + (bounds[1]-bounds[0])*float64(n)/float64(levels-1)
}

// candidate returns the size at a point of the search space.
func (a adjustment) candidate(x, y, levels int) size {
	s := size{workers: a.workers, servers: a.servers}
	if a.grow {
		s.cpu = min(a.cpu*within(growCPU, x, levels), mostCPU*a.Peak)
		s.memory = min(a.memory*within(growMemory, y, levels), mostMemory*a.Memory)
	} else {
		s.cpu = max(a.cpu*within(shrinkCPU, x, levels), leastCPU*a.Peak)
		s.memory = max(a.memory*within(shrinkMemory, y, levels), leastMemory*a.Memory)
	}
	return s
}

// fitness is the code's: a growing job's time, in mode 1 by its cost; what a shrinking job gives up by its slowdown.
func (a adjustment) fitness(c *cluster, s size) float64 {
	time := a.time(s.cpu)
	switch {
	case a.grow && a.byCost:
		return -time * c.fraction(s, 0.5)
	case a.grow:
		return -time
	}
	return (a.fraction(c, 0.75) - c.fraction(s, 0.75)) / (time / a.time(a.cpu))
}

// gene is a point of the search space: bits of CPU and memory in turns.
type gene [2 * bits]bool

func (g gene) point() (x, y int) {
	for i := range bits {
		y, x = 2*y, 2*x
		if g[2*i] {
			y++
		}
		if g[2*i+1] {
			x++
		}
	}
	return x, y
}

// evolve returns the fittest size of the last generation. It returns false if that is not allowed or changes nothing.
func evolve(q *qore, c *cluster, a adjustment) (size, bool) {
	genes := make([]gene, population)
	for i := range genes {
		for b := range genes[i] {
			genes[i][b] = q.dice.IntN(2) == 1
		}
	}
	score := func(g gene) float64 {
		x, y := g.point()
		return a.fitness(c, a.candidate(x, y, 1<<bits))
	}
	for range generations {
		scores := make([]float64, len(genes))
		for i, g := range genes {
			scores[i] = score(g)
		}
		genes = breed(roulette(genes, scores, q.dice), q.dice)
	}
	best := slices.MaxFunc(genes, func(g, h gene) int {
		if score(g) < score(h) {
			return -1
		}
		return 1
	})
	x, y := best.point()
	s := a.candidate(x, y, 1<<bits)
	return s, a.allowed(c, s)
}

// allowed reports whether a size fits on the hosts, and whether a job that shrinks still meets its deadline.
func (a adjustment) allowed(c *cluster, s size) bool {
	if s.cpu == a.cpu && s.memory == a.memory {
		return false
	}
	if a.grow {
		return c.roomFor(a.running, s.cpu-a.cpu, s.memory-a.memory)
	}
	return a.time(s.cpu)*a.remaining()/float64(a.workers) <= a.left(c.now)
}

// roulette draws a population by fitness.
func roulette(genes []gene, scores []float64, dice *rand.Rand) []gene {
	least, sum := slices.Min(scores), 0.0
	for i := range scores {
		scores[i] += 1e-4 - least
		sum += scores[i]
	}
	drawn := make([]gene, len(genes))
	for i := range drawn {
		at, k := sum*dice.Float64(), 0
		for ; k < len(genes)-1 && at >= scores[k]; k++ {
			at -= scores[k]
		}
		drawn[i] = genes[k]
	}
	return drawn
}

// breed crosses genes at a random point and mutates them.
func breed(genes []gene, dice *rand.Rand) []gene {
	children := slices.Clone(genes)
	for i := range children {
		if dice.Float64() < crossover {
			mother, from := genes[dice.IntN(len(genes))], dice.IntN(2*bits)
			copy(children[i][from:], mother[from:])
		}
		for b := range children[i] {
			if dice.Float64() < mutation {
				children[i][b] = !children[i][b]
			}
		}
	}
	return children
}
