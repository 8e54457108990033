package placementsim

import (
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// running is a job on a GPU.
type running struct {
	Job
	id    int
	done  float64
	speed float64
}

// gpu is a GPU of the simulated cluster.
type gpu struct {
	jobs []*running
	// since is when the present set of jobs started, measured when it was last measured; seconds.
	since, measured float64
}

// left returns the time that the job is expected to need at its present speed.
func (j *running) left() growth.Seconds {
	return growth.Seconds((j.Work - j.done) * j.Misjudged / j.speed)
}

func (g *gpu) kinds() []int {
	kinds := make([]int, len(g.jobs))
	for i, j := range g.jobs {
		kinds[i] = j.Kind
	}
	return kinds
}

func (g *gpu) add(j *running, at float64) {
	g.jobs = append(g.jobs, j)
	g.since, g.measured = at, at
}

func (g *gpu) remove(j *running, at float64) {
	g.jobs = slices.DeleteFunc(g.jobs, func(other *running) bool { return other == j })
	g.since, g.measured = at, at
}

// residents returns the jobs as the extender sees them.
func (g *gpu) residents(c *cluster) []placement.Resident {
	residents := make([]placement.Resident, len(g.jobs))
	for i, j := range g.jobs {
		now := j.growth(j.done)
		residents[i] = placement.Resident{
			Memory:   c.memory(j.Kind),
			Kind:     c.kinds[j.Kind],
			Growth:   now,
			Activity: c.speeds.Kinds[j.Kind].Activity,
			Category: category(now),
			Left:     j.left(),
		}
	}
	return residents
}

// measure returns the measured speeds of the present set: the true ones with a relative error.
func (g *gpu) measure(c *cluster) interference.Measurement {
	m := interference.Measurement{Seconds: measureSeconds}
	kinds := g.kinds()
	for i, speed := range c.speeds.together(kinds) {
		speed *= 1 + measureError*c.dice.NormFloat64()
		m.Set = append(m.Set, interference.Member{
			Kind:      c.kinds[kinds[i]],
			Activity:  c.speeds.Kinds[kinds[i]].Activity,
			Speed:     min(interference.MaxSpeed, max(0.01, speed)),
			Deviation: measureError * speed,
		})
	}
	return m
}

// Sharing is how the jobs of a GPU share it.
type Sharing string

// All ways of sharing.
const (
	Plain Sharing = "plain sharing"
	Turns Sharing = "turns"
)

// minTogether is the smallest sum of speeds with which jobs compute together instead of in turns.
const minTogether = 1.05

// share sets the speeds of the jobs on a GPU.
func (c *cluster) share(g *gpu) {
	together, sum := c.speeds.together(g.kinds()), 0.0
	for _, speed := range together {
		sum += speed
	}
	for i, j := range g.jobs {
		j.speed = together[i]
		if c.sharing == Turns && sum < minTogether {
			j.speed = 1 / float64(len(g.jobs))
		}
	}
}

// memoryOf returns what a job of the policy asks for.
func (c *cluster) memory(kind int) growth.MiB {
	if c.policy.Exclusive {
		return c.layout.Memory
	}
	return c.speeds.Kinds[kind].Memory
}
