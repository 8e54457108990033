package placementsim

import (
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Policy is a way to place jobs.
type Policy struct {
	Name string
	// Scores is the policy of the extender.
	Scores placement.Policy
	// Learns means that the policy predicts by the model that is learned in the run.
	Learns bool
	// Exclusive means that each job has a GPU to itself.
	Exclusive bool
}

// Learned is the name of the policy that the others are compared with.
const Learned = "growth, learned model"

// Policies returns all policies, Learned first.
func Policies() []Policy {
	return []Policy{
		{Name: Learned, Scores: placement.MarginalGrowth{}, Learns: true},
		{Name: "growth, prior", Scores: placement.MarginalGrowth{}},
		{Name: "iadeep, learned model", Scores: placement.IADeep{}, Learns: true},
		{Name: "iadeep", Scores: placement.IADeep{}},
		{Name: "specon", Scores: placement.SpeCon{}},
		{Name: "binpack", Scores: placement.Binpack{}},
		{Name: "spread", Scores: placement.Spread{}},
		{Name: "exclusive GPUs", Scores: placement.Spread{}, Exclusive: true},
	}
}

// scores returns the policy of the extender with what has been learned so far.
func (p Policy) scores(l *learner) placement.Policy {
	if l == nil {
		return p.Scores
	}
	policy, _ := placement.Predicting(p.Scores, l.model)
	return policy
}

// learner is the tuner: it learns the model from the measurements of the nodes.
type learner struct{ model *interference.Model }

func newLearner(p Policy) *learner {
	if !p.Learns {
		return nil
	}
	return &learner{}
}

func (l *learner) observe(m interference.Measurement) {}
