package placement

import (
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Policy says what a GPU is worth to a job that would hold memory on it and on count GPUs in all. Only GPUs with room
// are asked about. Reason tells a person why, in half a sentence that starts with the deciding amount.
type Policy interface {
	Score(g GPU, memory growth.MiB, count int) Score
	Explain(g GPU, memory growth.MiB, count int) string
}

// NewJobGrowth is the growth of a job that has just begun, and Busy its activity: nothing is known of either yet.
const (
	NewJobGrowth   growth.Growth = 1
	NewJobActivity growth.Share  = 1
)

// Predictor says how much a job of activity own is slowed by neighbours whose activities add up to others.
type Predictor interface {
	Slowdown(own, others growth.Share) interference.Prediction
}

// PolicyNames are the policies that Named knows.
func PolicyNames() []string { return []string{"growth", "specon", "iadeep", "binpack", "spread"} }

// NewPolicy returns the policy of one of Names, with interference as predicted.
func NewPolicy(name string, by Predictor) (Policy, error) {
	switch name {
	case "growth":
		return MarginalGrowth{Interference: by}, nil
	case "specon":
		return SpeCon{}, nil
	case "iadeep":
		return IADeep{Interference: by}, nil
	case "binpack":
		return Binpack{}, nil
	case "spread":
		return Spread{}, nil
	}
	return nil, fmt.Errorf("policy %q is none of %s", name, strings.Join(PolicyNames(), ", "))
}

// MarginalGrowth prefers the GPU where the sum of all growth gains most.
type MarginalGrowth struct{ Interference Predictor }

// Score is the change of the total growth, times count: the mean over the GPUs of a job is then the change it makes.
func (p MarginalGrowth) Score(g GPU, _ growth.MiB, count int) Score {
	gain, loss := p.Change(g, count)
	return Score(float64(gain-loss) * float64(count))
}

// Change is what the newcomer would grow by on the GPU, and what its neighbours would lose by it.
func (p MarginalGrowth) Change(g GPU, count int) (gain, loss growth.Growth) {
	crowd := activity(g)
	gain = slowed(growthPerGPU(NewJobGrowth, count), p.Interference.Slowdown(NewJobActivity, crowd))
	for _, r := range g.Residents {
		others := crowd - r.Activity
		loss += slowed(r.Growth, p.Interference.Slowdown(r.Activity, others)) -
			slowed(r.Growth, p.Interference.Slowdown(r.Activity, others+NewJobActivity))
	}
	return gain, loss
}

// Explain names gain, loss and what is expected of the newcomer's steps.
func (p MarginalGrowth) Explain(g GPU, _ growth.MiB, count int) string {
	gain, loss := p.Change(g, count)
	if len(g.Residents) == 0 {
		return fmt.Sprintf("+%.2f growth: alone on the GPU", gain)
	}
	step := p.Interference.Slowdown(NewJobActivity, activity(g))
	return fmt.Sprintf("+%.2f growth for the pod, -%.2f for %d there already; its steps take %.2f ± %.2f times as long as alone",
		gain, loss, len(g.Residents), step.Mean, step.Deviation)
}

func slowed(g growth.Growth, by interference.Prediction) growth.Growth {
	return g / growth.Growth(by.Cautious())
}

// activity sums the activities of a GPU's residents.
func activity(g GPU) growth.Share {
	var crowd growth.Share
	for _, r := range g.Residents {
		crowd += r.Activity
	}
	return crowd
}

// Binpack prefers the GPU that is fullest afterwards.
type Binpack struct{}

// Score is the used part of the GPU with the job on it.
func (Binpack) Score(g GPU, memory growth.MiB, _ int) Score {
	return Score(float64(g.Used()+memory) / float64(g.Memory))
}

// Explain names what is used afterwards.
func (Binpack) Explain(g GPU, memory growth.MiB, _ int) string {
	return fmt.Sprintf("%s of %s used with the pod", g.Used()+memory, g.Memory)
}

// Spread prefers the GPU that is emptiest afterwards.
type Spread struct{}

// Score is the free part of the GPU with the job on it.
func (Spread) Score(g GPU, memory growth.MiB, _ int) Score {
	return Score(float64(g.Free()-memory) / float64(g.Memory))
}

// Explain names what is free afterwards.
func (Spread) Explain(g GPU, memory growth.MiB, _ int) string {
	return fmt.Sprintf("%s of %s free with the pod", g.Free()-memory, g.Memory)
}
