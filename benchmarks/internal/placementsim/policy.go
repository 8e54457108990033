package placementsim

import (
	"github.com/trellis-gpu/trellis/growth/placement"
)

// Policy is a way to place jobs.
type Policy struct {
	Name string
	// Scores is the policy of the extender.
	Scores placement.Policy
	// Learns means that the policy predicts by the model that is learned in the run.
	Learns bool
	// Earlier means that the model starts with what was learned from other jobs of the same kinds.
	Earlier bool
	// Exclusive means that each job has a GPU to itself.
	Exclusive bool
}

// Learned is the name of the policy that the others are compared with.
const Learned = "growth, learned model"

// rivals are the policies that Learned must beat.
func rivals() []string { return []string{"IADeep's rule", "binpack", "spread", "exclusive GPUs"} }

// Policies returns all policies, Learned first.
func Policies() []Policy {
	return []Policy{
		{Name: Learned, Scores: placement.MarginalGrowth{}, Learns: true},
		{
			Name:    "growth, model of earlier jobs",
			Scores:  placement.MarginalGrowth{},
			Learns:  true,
			Earlier: true,
		},
		{Name: "growth, prior", Scores: placement.MarginalGrowth{}},
		{Name: "IADeep's rule, learned model", Scores: placement.IADeep{}, Learns: true},
		{Name: "IADeep's rule", Scores: placement.IADeep{}},
		{Name: "SpeCon's counts", Scores: placement.SpeCon{}},
		{Name: "binpack", Scores: placement.Binpack{}},
		{Name: "spread", Scores: placement.Spread{}},
		{Name: "exclusive GPUs", Scores: placement.Spread{}, Exclusive: true},
	}
}

// scores returns the policy of the extender with what has been learned by now.
func (p Policy) scores(l *learner, now float64) placement.Policy {
	if l == nil {
		return p.Scores
	}
	policy, _ := placement.Predicting(p.Scores, l.at(now))
	return policy
}
