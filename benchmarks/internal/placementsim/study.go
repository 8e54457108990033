package placementsim

import (
	"math"
	"math/rand/v2"
)

// Experiment is a setting in which the policies are compared.
type Experiment struct {
	Layout   Layout
	Speeds   Speeds
	Workload Workload
	Sharing  Sharing
}

// Row is the result of one policy.
type Row struct {
	Policy string
	// Completion is the time from the arrival of a job to its end, Good that until it has made 95 % of its improvement.
	Completion, Good Time
}

// Time is a mean time, over jobs and seeds.
type Time struct {
	Seconds float64
	// Change is that of Learned relative to this policy's, in per cent: the mean over seeds of the same jobs, with its
	// 95 % interval. Negative is better.
	Change, Low, High float64
}

// Run returns a row per policy. Each seed draws the same jobs for all of them.
func Run(e Experiment, policies []Policy, seeds int) []Row {
	completions, goods := make([][]float64, len(policies)), make([][]float64, len(policies))
	for seed := range uint64(seeds) {
		jobs, earlier := e.jobs(seed), e.jobs(seed+earlierSeeds)
		for i, p := range policies {
			c := newCluster(e, p, seed)
			if p.Earlier {
				before := newCluster(e, p, seed+earlierSeeds)
				before.run(earlier)
				c.learner = before.learner.restarted()
			}
			completion, good := c.run(jobs)
			completions[i], goods[i] = append(completions[i], completion), append(goods[i], good)
		}
	}
	rows := make([]Row, len(policies))
	for i, p := range policies {
		rows[i] = Row{Policy: p.Name, Completion: compared(completions[0], completions[i]), Good: compared(goods[0], goods[i])}
	}
	return rows
}

// compared compares the times of Learned, by seed, with those of a policy.
func compared(learned, times []float64) Time {
	changes := make([]float64, len(times))
	for s := range changes {
		changes[s] = 100 * (learned[s]/times[s] - 1)
	}
	mean, half := interval(changes)
	seconds, _ := interval(times)
	return Time{Seconds: seconds, Change: mean, Low: mean - half, High: mean + half}
}

// earlierSeeds is added to a seed for the jobs that ran before.
const earlierSeeds = 1 << 32

func (e Experiment) jobs(seed uint64) []Job {
	return e.Workload.draw(len(e.Speeds.Kinds), rand.New(rand.NewPCG(seed, 1)))
}

// interval returns the mean, and half of its 95 % interval.
func interval(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, 1.96 * math.Sqrt(squares/max(1, n-1)/n)
}
