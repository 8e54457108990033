package placement

import (
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Policy scores a GPU for a job that would hold memory on it and on count GPUs in all. It is called for GPUs on which
// the job fits.
type Policy interface {
	Score(g GPU, memory growth.MiB, count int) Score
	// Explain explains the score to the user, starting with the deciding number.
	Explain(g GPU, memory growth.MiB, count int) string
}

const (
	// NewJobGrowth is the growth of a job without a report.
	NewJobGrowth growth.Growth = 1
	// NewJobActivity is the activity of a job without a report.
	NewJobActivity growth.Share = 1
)

// Predictor predicts the slowdown of a job with activity own on a GPU shared with jobs whose activities sum to others.
type Predictor interface {
	Slowdown(own, others growth.Share) interference.Prediction
}

// PolicyNames returns the names that NewPolicy accepts.
func PolicyNames() []string { return []string{"growth", "specon", "iadeep", "binpack", "spread"} }

// NewPolicy returns the policy with a name. Policies that need slowdowns use predictor.
func NewPolicy(name string, predictor Predictor) (Policy, error) {
	switch name {
	case "growth":
		return MarginalGrowth{Interference: predictor}, nil
	case "specon":
		return SpeCon{}, nil
	case "iadeep":
		return IADeep{Interference: predictor}, nil
	case "binpack":
		return Binpack{}, nil
	case "spread":
		return Spread{}, nil
	}
	return nil, fmt.Errorf("policy %q is none of %s", name, strings.Join(PolicyNames(), ", "))
}

// MarginalGrowth prefers the GPU on which the job increases the total growth most.
type MarginalGrowth struct{ Interference Predictor }

// Score returns the change of the total growth, multiplied by count. Place averages over the GPUs of a job, so the
// score of a choice is the change that the job makes.
func (p MarginalGrowth) Score(g GPU, _ growth.MiB, count int) Score {
	gain, loss := p.Change(g, count)
	return Score(float64(gain-loss) * float64(count))
}

// Change returns the growth of the new job on the GPU, and the growth that the jobs on it would lose.
func (p MarginalGrowth) Change(g GPU, count int) (gain, loss growth.Growth) {
	active := activity(g)
	gain = slowed(growthPerGPU(NewJobGrowth, count), p.Interference.Slowdown(NewJobActivity, active))
	for _, r := range g.Residents {
		others := active - r.Activity
		loss += slowed(r.Growth, p.Interference.Slowdown(r.Activity, others)) -
			slowed(r.Growth, p.Interference.Slowdown(r.Activity, others+NewJobActivity))
	}
	return gain, loss
}

// Explain names the gain, the loss and the predicted slowdown of the new job.
func (p MarginalGrowth) Explain(g GPU, _ growth.MiB, count int) string {
	gain, loss := p.Change(g, count)
	if len(g.Residents) == 0 {
		return fmt.Sprintf("+%.2f growth: alone on the GPU", gain)
	}
	step := p.Interference.Slowdown(NewJobActivity, activity(g))
	return fmt.Sprintf("+%.2f growth for the pod, -%.2f for %d there already; "+
		"its steps take %.2f ± %.2f times as long as alone",
		gain, loss, len(g.Residents), step.Mean, step.Deviation)
}

func slowed(g growth.Growth, slowdown interference.Prediction) growth.Growth {
	return g / growth.Growth(slowdown.Cautious())
}

// activity returns the sum of the activities of a GPU's residents.
func activity(g GPU) growth.Share {
	var sum growth.Share
	for _, r := range g.Residents {
		sum += r.Activity
	}
	return sum
}

// Binpack prefers the GPU with the least free memory.
type Binpack struct{}

// Score returns the used fraction of the GPU with the job on it.
func (Binpack) Score(g GPU, memory growth.MiB, _ int) Score {
	return Score(float64(g.Used()+memory) / float64(g.Memory))
}

// Explain names the used memory with the job on the GPU.
func (Binpack) Explain(g GPU, memory growth.MiB, _ int) string {
	return fmt.Sprintf("%s of %s used with the pod", g.Used()+memory, g.Memory)
}

// Spread prefers the GPU with the most free memory.
type Spread struct{}

// Score returns the free fraction of the GPU with the job on it.
func (Spread) Score(g GPU, memory growth.MiB, _ int) Score {
	return Score(float64(g.Free()-memory) / float64(g.Memory))
}

// Explain names the free memory with the job on the GPU.
func (Spread) Explain(g GPU, memory growth.MiB, _ int) string {
	return fmt.Sprintf("%s of %s free with the pod", g.Free()-memory, g.Memory)
}
