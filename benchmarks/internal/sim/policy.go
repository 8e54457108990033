package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

const (
	// interval is the time between decisions of every policy but fair, which has none.
	interval = 10 * time.Second
	// alpha and beta are the parameters of FlowCon.
	alpha, beta = 0.05, 2.0
)

// Named is a policy with its parameters. New returns one for a machine on which sizes are wrong by up to errors.
type Named struct {
	Name string
	New  func(cores, errors float64) Policy
}

// Policies are compared with fair sharing.
func Policies() []Named {
	return []Named{
		{string(policy.FlowConLiteral), flowCon(policy.FlowConLiteral)},
		{string(policy.FlowCon), flowCon(policy.FlowCon)},
		{Finish, objective(fairfinish.Finish, policy.ConvergedFair)},
		{Balanced, objective(fairfinish.Balanced, policy.ConvergedFair)},
		{Growth, objective(fairfinish.Growth, policy.ConvergedFair)},
		{KnownBalanced, knowing(fairfinish.Balanced)},
		{KnownGrowth, knowing(fairfinish.Growth)},
	}
}

// Shipped returns the default policy, with each setting for converged jobs.
func Shipped(policies []Named) []Named {
	return slices.DeleteFunc(policies, func(p Named) bool { return !strings.HasPrefix(p.Name, Balanced) })
}

// PoliciesWith returns the policies with harmless under each of these settings for converged jobs of unknown size.
func PoliciesWith(converged []policy.Converged) []Named {
	var all []Named
	for _, p := range Policies() {
		o, isHarmless := map[string]fairfinish.Objective{
			Finish:   fairfinish.Finish,
			Balanced: fairfinish.Balanced,
			Growth:   fairfinish.Growth,
		}[p.Name]
		if !isHarmless {
			all = append(all, p)
			continue
		}
		for _, c := range converged {
			all = append(all, Named{withConverged(p.Name, c), objective(o, c)})
		}
	}
	return all
}

// withConverged returns the name of a policy under a setting for converged jobs.
func withConverged(name string, c policy.Converged) string {
	if c == policy.ConvergedFloor {
		return name + ", floor"
	}
	return name
}

// The names of harmless under its three objectives, and of two upper bounds.
const (
	Finish        = "harmless finish"
	Balanced      = "harmless balanced"
	Growth        = "harmless growth"
	KnownBalanced = "known balanced"
	KnownGrowth   = "known growth"
)

func flowCon(name policy.Name) func(cores, errors float64) Policy {
	return func(cores, _ float64) Policy { return newNode(node.Config{Policy: name}, cores, 0) }
}

func objective(o fairfinish.Objective, c policy.Converged) func(cores, errors float64) Policy {
	return func(cores, errors float64) Policy {
		return alertNode{newNode(node.Config{Policy: policy.Harmless, Objective: o, Converged: c}, cores, errors)}
	}
}

func knowing(o fairfinish.Objective) func(cores, errors float64) Policy {
	return func(cores, _ float64) Policy { return known{o, cores} }
}

// Fair is processor sharing: the same weight for all jobs at all times.
type Fair struct{}

// Decide returns equal shares.
func (Fair) Decide(_ float64, running, _ []*Running) ([]float64, float64) {
	shares := make([]float64, len(running))
	for i := range shares {
		shares[i] = 1
	}
	return shares, math.Inf(1)
}

// id sorts in the order of arrival.
func id(r *Running) growth.PodUID {
	if r.uid == "" {
		r.uid = growth.PodUID(fmt.Sprintf("%04d", r.Index))
	}
	return r.uid
}

func date(seconds float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(growth.Seconds(seconds).Duration())
}
