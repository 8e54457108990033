package results

import (
	"slices"

	"github.com/trellis-gpu/trellis/benchmarks/internal/timeline"
)

// Comparison is one round of the policy against the other one, in jobs' completion times.
type Comparison struct {
	// Jobs are all jobs, Mean is over those that ended under both policies; Best and Worst are the job that gained and the
	// job that lost most, or least, of its time.
	Jobs                        []timeline.Difference
	Mean, Best, Worst, Makespan timeline.Difference
	// Good is the mean time until a job's metric had made 95 % of its way.
	Good timeline.Difference
}

// Compare sets the two runs of a round side by side.
func Compare(r Round) Comparison {
	c := Comparison{Makespan: timeline.Difference{Job: "makespan", Completion: r.Run.Makespan(), Other: r.Other.Makespan()}}
	c.Jobs, c.Mean = r.Run.Against(r.Other)
	c.Good = r.Run.Good(r.Other)
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

// Known tells whether both runs went far enough to be compared.
func (c Comparison) Known() bool { return c.Mean.Known() && c.Makespan.Known() }

// compared are the rounds that have something to compare with.
func compared(rounds []Round) []Round {
	return slices.DeleteFunc(slices.Clone(rounds), func(r Round) bool { return r.Other == nil })
}
