package placementsim

import (
	"github.com/trellis-gpu/trellis/growth"
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
	// Remembers means that the policy is that of IADeep's code, by the first measurement of each set.
	Remembers bool
	// Exclusive means that each job has a GPU to itself.
	Exclusive bool
}

// The policies by which figures are named: those of the extender growth, which the others are compared with, iadeep and
// iadeep-literal, and the one of IADeep's code.
const (
	Learned       = "growth, learned model"
	iadeep        = "IADeep's rule, learned model"
	iadeepLiteral = "IADeep's rule"
	iadeepCode    = "IADeep's code"
)

// rivals are the policies that Learned must beat.
func rivals() []string {
	return []string{iadeepCode, iadeepLiteral, iadeep, "binpack", "spread", "exclusive GPUs"}
}

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
		{Name: iadeep, Scores: placement.IADeep{}, Learns: true},
		{Name: iadeepLiteral, Scores: placement.IADeepLiteral{}},
		{Name: iadeepCode, Scores: published{}, Remembers: true},
		{Name: "SpeCon's counts", Scores: placement.SpeCon{}},
		{Name: "binpack", Scores: placement.Binpack{}},
		{Name: "spread", Scores: placement.Spread{}},
		{Name: "exclusive GPUs", Scores: placement.Spread{}, Exclusive: true},
	}
}

// scores returns the policy of the extender with what has been learned by now, and the stay of a new job.
func (p Policy) scores(l *learner, now float64, stay growth.Seconds) placement.Policy {
	if p.Remembers {
		return published{l.first}
	}
	policy, _ := placement.Predicting(p.Scores, l.at(now), stay)
	return policy
}
