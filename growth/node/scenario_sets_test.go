package node_test

import (
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// apart is the speed of two jobs that are no faster together than in turns.
const apart = 0.5

// speedAmong returns the speed of a job while others compute too, relative to computing alone. Each of them adds its part to
// the time of a step.
func (g *gpus) speedAmong(name string, others []string) float64 {
	slowdown := 1.0
	for _, other := range others {
		speed := min(g.jobs[name].together, g.jobs[other].together)
		if speed == 0 {
			speed = apart
		}
		slowdown += 1/speed - 1
	}
	return 1 / slowdown
}

// training returns the names of the jobs with work left.
func (g *gpus) training() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(g.jobs)) {
		if j := g.jobs[name]; j.trains && j.done < j.total-1e-9 {
			names = append(names, name)
		}
	}
	return names
}

// computeInSets lets jobs on one GPU compute for some time. The jobs of a set hold the turn together, and a set needs the time
// of the member that needs most.
func (g *gpus) computeInSets(seconds float64) {
	sets, weights, sum := g.sets(), []float64{}, 0.0
	for _, set := range sets {
		weight := 0.0
		for _, name := range set {
			weight = max(weight, g.weight(name)/g.speedAmong(name, without(set, name)))
		}
		weights, sum = append(weights, weight), sum+weight
	}
	for i, set := range sets {
		time := seconds * weights[i] / sum
		for _, name := range set {
			g.hold(name, without(set, name), time)
			g.jobs[name].use.Waited += growth.Seconds(seconds - time)
		}
	}
}

// sets returns the jobs that compute at the same time: all of them without turns, else by the number of their set.
func (g *gpus) sets() (sets [][]string) {
	training, byNumber := g.training(), map[int]int{}
	for _, name := range training {
		if !g.takesTurns(name) {
			return [][]string{training}
		}
		number := g.set(name)
		at, known := byNumber[number]
		if number == 0 || !known {
			at = len(sets)
			byNumber[number] = at
			sets = append(sets, nil)
		}
		sets[at] = append(sets[at], name)
	}
	return sets
}

// set returns the number of the job's set.
func (g *gpus) set(name string) int {
	for _, group := range g.plan.Groups {
		for _, j := range group.Jobs {
			if j.Pod == uid(name) {
				return j.Set
			}
		}
	}
	return 0
}

// hold lets a job compute for some time while others compute too.
func (g *gpus) hold(name string, others []string, seconds float64) {
	j := g.jobs[name]
	j.done = min(j.done+seconds*g.speedAmong(name, others), j.total)
	j.holdWith(others, growth.Seconds(seconds))
	j.countSteps(len(others) == 0)
}

// holdWith counts the time in which a job holds its GPUs while others do too.
func (j *gpuJob) holdWith(others []string, held growth.Seconds) {
	j.use.Held += held
	if len(others) == 0 {
		j.use.Alone += held
		return
	}
	var ids []growth.PodUID
	for _, other := range others {
		ids = append(ids, uid(other))
	}
	same := func(t node.Together) bool { return slices.Equal(t.Others, ids) }
	j.use.Together = slices.Clone(j.use.Together)
	if i := slices.IndexFunc(j.use.Together, same); i >= 0 {
		j.use.Together[i].Held += held
		return
	}
	j.use.Together = append(j.use.Together, node.Together{Others: ids, Held: held})
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(other string) bool { return other == name })
}
