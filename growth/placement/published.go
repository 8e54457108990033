package placement

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// SpeCon prefers the GPU with the lowest weighted count of jobs (SpeCon, arXiv 2010.11307, Algorithm 4). It departs
// from the paper in two ways. The paper counts the jobs of a worker and places only jobs that move; here the count is
// per GPU and applies to new jobs as well. The paper breaks ties by an undefined resource consumption; here the GPU
// with the most free memory wins.
type SpeCon struct{}

// Score returns 1 for an empty GPU and 1/2 for a GPU with one progressing job.
func (SpeCon) Score(g GPU, _ Newcomer) Score {
	const tieBreak = 1e-6 // smaller than any difference between two counts
	return Score(1/(1+weightedCount(g)/2) - tieBreak*float64(g.Used())/float64(max(1, g.Memory)))
}

// Explain names the weighted count.
func (SpeCon) Explain(g GPU, _ Newcomer) string {
	return fmt.Sprintf("weighted count %g for %d jobs: 2 if progressing, 1.5 if watching, 1 if converged",
		weightedCount(g), len(g.Residents))
}

func weightedCount(g GPU) float64 {
	var count float64
	for _, r := range g.Residents {
		count += weight(r.Category)
	}
	return count
}

// weight returns the weight of a job in the count. A job without a category counts as progressing.
func weight(c growth.Category) float64 {
	switch c {
	case growth.Watching:
		return 1.5
	case growth.Converged:
		return 1
	}
	return 2
}

// IADeep prefers the GPU with the lowest sum of relative increases of step time over all jobs (IADeep, SC'23). An idle
// GPU comes first. The growth of the jobs does not matter. The published code looks up increases in a table of job
// types and uses a constant for unknown combinations; here the increases are predicted as in the growth policy.
type IADeep struct{ Model *interference.Model }

// Score returns 1 for an empty GPU and falls with the sum of all increases.
func (p IADeep) Score(g GPU, job Newcomer) Score { return Score(1 / (1 + p.increase(g, job))) }

// Explain names the sum of all increases.
func (p IADeep) Explain(g GPU, job Newcomer) string {
	return fmt.Sprintf("+%.2f step time, summed over %d jobs", p.increase(g, job), len(g.Residents)+1)
}

func (p IADeep) increase(g GPU, job Newcomer) growth.Slowdown {
	var room [typicalJobs]interference.Member
	c := newCrowd(room[:0], g, job)
	increase := c.newcomer(p.Model).Cautious() - 1
	for i := range g.Residents {
		_, after := c.resident(p.Model, i)
		increase += after.Cautious() - 1
	}
	return increase
}

// IADeepLiteral is IADeep by nothing but what it published: the mean increase of its pairs, which is the prior of the
// model. It ignores what was measured.
type IADeepLiteral struct{}

// Score returns 1 for an empty GPU and falls with the sum of all increases.
func (IADeepLiteral) Score(g GPU, job Newcomer) Score { return IADeep{}.Score(g, job) }

// Explain names the sum of all increases.
func (IADeepLiteral) Explain(g GPU, job Newcomer) string { return IADeep{}.Explain(g, job) }
