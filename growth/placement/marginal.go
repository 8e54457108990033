package placement

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// MarginalGrowth prefers the GPU on which the job increases the total growth most.
type MarginalGrowth struct{ Model *interference.Model }

// Score returns the change of the total growth, multiplied by the number of the job's GPUs. Place averages over these, so
// the score of a choice is the change that the job makes.
func (p MarginalGrowth) Score(g GPU, job Newcomer) Score {
	gain, loss := p.Change(g, job)
	return Score(float64(gain-loss) * float64(job.Count))
}

// Change returns the growth of the new job on the GPU, and the growth that the jobs on it would lose.
func (p MarginalGrowth) Change(g GPU, job Newcomer) (gain, loss growth.Growth) {
	var room [typicalJobs]interference.Member
	c := newCrowd(room[:0], g, job)
	gain = slowed(growthPerGPU(NewJobGrowth, job.Count), c.newcomer(p.Model))
	for i, r := range g.Residents {
		before, after := c.resident(p.Model, i)
		loss += slowed(r.Growth, before) - slowed(r.Growth, after)
	}
	return gain, loss
}

// Explain names the gain, the loss and the predicted slowdown of the new job.
func (p MarginalGrowth) Explain(g GPU, job Newcomer) string {
	gain, loss := p.Change(g, job)
	if len(g.Residents) == 0 {
		return fmt.Sprintf("+%.2f growth: alone on the GPU", gain)
	}
	step := newCrowd(nil, g, job).newcomer(p.Model)
	return fmt.Sprintf("+%.2f growth for the pod, -%.2f for %d there already; "+
		"its steps take %.2f ± %.2f times as long as alone",
		gain, loss, len(g.Residents), step.Mean, step.Deviation)
}

func slowed(g growth.Growth, slowdown interference.Prediction) growth.Growth {
	return g / growth.Growth(slowdown.Cautious())
}
