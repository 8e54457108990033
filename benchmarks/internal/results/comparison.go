package results

import (
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// Comparison compares the completion times of one round with those under the other policy.
type Comparison struct {
	// Jobs lists all jobs. Mean is over the jobs that ended under both policies. Best and Worst are the jobs with the
	// smallest and the largest relative change.
	Jobs                        []timeline.Difference
	Mean, Best, Worst, Makespan timeline.Difference
	// Target is the mean time until a job's metric reached 95 % of its improvement.
	Target timeline.Difference
}

// Compare compares the two runs of a round.
func Compare(r Round) Comparison {
	c := Comparison{Makespan: timeline.Difference{Job: "makespan", Completion: r.Run.Makespan(), Other: r.Other.Makespan()}}
	c.Jobs, c.Mean = r.Run.Against(r.Other)
	c.Target = r.Run.TargetAgainst(r.Other)
	for _, d := range c.Jobs {
		if !d.Known() {
			continue
		}
		if !c.Best.Known() || d.Relative() < c.Best.Relative() {
			c.Best = d
		}
		if !c.Worst.Known() || d.Relative() > c.Worst.Relative() {
			c.Worst = d
		}
	}
	return c
}

// Known reports whether both runs have enough finished jobs for a comparison.
func (c Comparison) Known() bool { return c.Mean.Known() && c.Makespan.Known() }

// compared returns the rounds that have a second run.
func compared(rounds []Round) []Round {
	return slices.DeleteFunc(slices.Clone(rounds), func(r Round) bool { return r.Other == nil })
}
