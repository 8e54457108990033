package placement

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
)

// SpeCon prefers the GPU with the lowest weighted count of jobs (SpeCon, arXiv 2010.11307, Algorithm 4). The paper counts on
// whole workers and places only jobs that move; here it is each GPU, for new jobs too. Ties go to the GPU with the most free
// memory, where the paper ranks by an undefined consumption of resources.
type SpeCon struct{}

// Score is 1 on an empty GPU and 1/2 beside one job that progresses.
func (SpeCon) Score(g GPU, _ growth.MiB, _ int) Score {
	const less = 1e-6 // than any difference between two counts
	return Score(1/(1+weightedCount(g)/2) - less*float64(g.Used())/float64(max(1, g.Memory)))
}

// Explain names the weighted count.
func (SpeCon) Explain(g GPU, _ growth.MiB, _ int) string {
	return fmt.Sprintf("weighted count %g: %d there already, 2 for each that progresses, 1.5 watched, 1 converged", weightedCount(g), len(g.Residents))
}

func weightedCount(g GPU) float64 {
	var count float64
	for _, r := range g.Residents {
		count += weight(r.Category)
	}
	return count
}

// weight is what a job counts. One that nobody has classified progresses.
func weight(c growth.Category) float64 {
	switch c {
	case growth.Watching:
		return 1.5
	case growth.Converged:
		return 1
	}
	return 2
}

// IADeep prefers the GPU on which all jobs together would be slowed least (IADeep, SC'23: the lowest sum of relative increases of
// step time; an idle GPU at once). Whether a job still learns plays no part. The published code looks increases up in a table of
// job types and takes a constant for sets it does not know; here they are predicted like those of the growth policy.
type IADeep struct{ Interference Predictor }

// Score is 1 on an empty GPU and falls with the sum of all increases.
func (p IADeep) Score(g GPU, _ growth.MiB, _ int) Score { return Score(1 / (1 + p.increase(g))) }

// Explain names the sum of increases.
func (p IADeep) Explain(g GPU, _ growth.MiB, _ int) string {
	return fmt.Sprintf("%.2f: how much longer the steps of %d jobs take, in sum", p.increase(g), len(g.Residents)+1)
}

func (p IADeep) increase(g GPU) growth.Slowdown {
	crowd := activity(g)
	increase := p.Interference.Slowdown(NewJobActivity, crowd).Cautious() - 1
	for _, r := range g.Residents {
		increase += p.Interference.Slowdown(r.Activity, crowd-r.Activity+NewJobActivity).Cautious() - 1
	}
	return increase
}
