package placement

import (
	"fmt"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// Policy scores a GPU for a job that has no node yet. It is called for GPUs on which the job fits.
type Policy interface {
	Score(g GPU, job Newcomer) Score
	// Explain explains the score to the user, starting with the deciding number.
	Explain(g GPU, job Newcomer) string
}

// Newcomer is a job that has no node yet.
type Newcomer struct {
	// Kind is the job's kind, empty if it is unknown.
	Kind interference.Kind
	// Memory is what the job would hold on each of its GPUs, Count the number of its GPUs.
	Memory growth.MiB
	Count  int
	// CPU is how much the job crowds the CPU of the node.
	CPU Crowding
}

// NewJobGrowth is the growth of a job without a report.
const NewJobGrowth growth.Growth = 1

// PolicyNames returns the names that NewPolicy accepts.
func PolicyNames() []string {
	return []string{"growth", "specon", "iadeep", "iadeep-literal", "binpack", "spread"}
}

// NewPolicy returns the policy with a name. Policies that need slowdowns predict them by model; nil is the prior.
func NewPolicy(name string, model *interference.Model) (Policy, error) {
	switch name {
	case "growth":
		return MarginalGrowth{Model: model}, nil
	case "specon":
		return SpeCon{}, nil
	case "iadeep":
		return IADeep{Model: model}, nil
	case "iadeep-literal":
		return IADeepLiteral{}, nil
	case "binpack":
		return Binpack{}, nil
	case "spread":
		return Spread{}, nil
	}
	return nil, fmt.Errorf("policy %q is none of %s", name, strings.Join(PolicyNames(), ", "))
}

// Predicting returns the policy with another model and stay of a new job, and whether its scores depend on a model.
func Predicting(p Policy, model *interference.Model, stay growth.Seconds) (Policy, bool) {
	switch p.(type) {
	case MarginalGrowth:
		return MarginalGrowth{Model: model, Stay: stay}, true
	case IADeep:
		return IADeep{Model: model}, true
	}
	return p, false
}

// Binpack prefers the GPU with the least free memory.
type Binpack struct{}

// Score returns the used fraction of the GPU with the job on it.
func (Binpack) Score(g GPU, job Newcomer) Score {
	return Score(float64(g.Used()+job.Memory) / float64(g.Memory))
}

// Explain names the used memory with the job on the GPU.
func (Binpack) Explain(g GPU, job Newcomer) string {
	return fmt.Sprintf("%s of %s used with the pod", g.Used()+job.Memory, g.Memory)
}

// Spread prefers the GPU with the most free memory.
type Spread struct{}

// Score returns the free fraction of the GPU with the job on it.
func (Spread) Score(g GPU, job Newcomer) Score {
	return Score(float64(g.Free()-job.Memory) / float64(g.Memory))
}

// Explain names the free memory with the job on the GPU.
func (Spread) Explain(g GPU, job Newcomer) string {
	return fmt.Sprintf("%s of %s free with the pod", g.Free()-job.Memory, g.Memory)
}
