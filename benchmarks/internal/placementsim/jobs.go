package placementsim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
)

// Job is a job of the workload. Times are seconds.
type Job struct {
	Arrival float64
	Kind    int
	// Work is the time that the job needs alone, Need the part in which its metric makes 95 % of its improvement.
	Work, Need float64
	// Misjudged is the expected remaining work divided by the true one.
	Misjudged float64
}

// Workload is how jobs arrive.
type Workload struct {
	Jobs int
	// Window is the time within which all jobs arrive, in seconds.
	Window float64
}

// misjudged is the largest relative error of an expected remaining work.
const misjudged = 0.3

// draw returns the jobs of a seed, by arrival.
func (w Workload) draw(kinds int, dice *rand.Rand) []Job {
	jobs := make([]Job, w.Jobs)
	for i := range jobs {
		jobs[i] = Job{
			Arrival: w.Window * dice.Float64(),
			Kind:    dice.IntN(kinds),
			Work:    32 + 280*dice.Float64(),
		}
		jobs[i].Need = jobs[i].Work * (0.15 + 0.35*dice.Float64())
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	for i := range jobs {
		jobs[i].Misjudged = 1 + misjudged*(2*dice.Float64()-1)
	}
	return jobs
}

// growth returns the growth of a job after some work: the slope of an exponential approach that has made 95 % after Need.
func (j Job) growth(done float64) growth.Growth { return growth.Growth(math.Exp(-3 * done / j.Need)) }

// category returns the category of a job with a growth. A node needs a few samples for it, which take little of a job.
func category(g growth.Growth) growth.Category {
	const threshold = 0.05
	switch {
	case g >= threshold:
		return growth.Progressing
	case g >= threshold/2:
		return growth.Watching
	}
	return growth.Converged
}
