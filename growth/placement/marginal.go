package placement

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// MarginalGrowth prefers the GPU on which the job increases the total growth most.
type MarginalGrowth struct {
	Model *interference.Model
	// Stay is for how long the new job is compared with those on the GPU: see TimeLeft. With 0 none of them ends before it.
	Stay growth.Seconds
}

// Score returns the change of the total growth, multiplied by the number of the job's GPUs. Place averages over these, so
// the score of a choice is the change that the job makes.
func (p MarginalGrowth) Score(g GPU, job Newcomer) Score {
	gain, loss, _ := p.Change(g, job)
	return Score(float64(gain-loss) * float64(job.Count))
}

// Change returns the growth of the new job on the GPU, the growth that the jobs on it would lose, with the GPU's part of what all jobs of
// the node lose by its CPU, and how many of those on the GPU are expected to end during the stay of the new job.
func (p MarginalGrowth) Change(g GPU, job Newcomer) (gain, loss growth.Growth, ending int) {
	var room [typicalJobs]interference.Member
	c := newCrowd(room[:0], g, job)
	step := c.newcomer(p.Model).Mean
	short := job.CPU.slowdown()
	stay := p.Stay * growth.Seconds(step*short)
	var present growth.Share // summed over the residents
	for i, r := range g.Residents {
		before, after := c.resident(p.Model, i)
		slower := after.Mean / before.Mean
		part := presence(r.Left*growth.Seconds(slower), stay)
		present += part
		if part < 1 {
			ending++
		}
		loss += r.Growth * growth.Growth(part) * growth.Growth(1-1/slower)
	}
	gain = growthPerGPU(NewJobGrowth, job.Count)
	if n := len(g.Residents); n > 0 {
		gain /= 1 + growth.Growth(step-1)*growth.Growth(present)/growth.Growth(n)
	}
	return gain / growth.Growth(short), loss + growthPerGPU(job.CPU.lost(stay), job.Count), ending
}

// presence returns the part of the stay of a new job in which a resident is there too, which ends after left.
func presence(left, stay growth.Seconds) growth.Share {
	if left <= 0 || stay <= 0 || left >= stay {
		return 1
	}
	return growth.Share(left / stay)
}

// Explain names the gain, the loss, the jobs that end soon and the predicted slowdown of the new job.
func (p MarginalGrowth) Explain(g GPU, job Newcomer) string {
	gain, loss, ending := p.Change(g, job)
	if len(g.Residents) == 0 {
		return fmt.Sprintf("+%.2f growth: alone on the GPU", gain-loss) + job.CPU.explain()
	}
	step := newCrowd(nil, g, job).newcomer(p.Model)
	soon := ""
	if ending > 0 {
		soon = fmt.Sprintf(", of which %d will end soon", ending)
	}
	return fmt.Sprintf("+%.2f growth for the pod, -%.2f for %d there already%s; its steps take %.2f ± %.2f times as long as alone",
		gain, loss, len(g.Residents), soon, step.Mean, step.Deviation) + job.CPU.explain()
}
