package sim

import (
	"math"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// interval is the time between decisions of every policy but fair, which needs none.
const interval = 10 * time.Second

// Named is a policy with its parameters. New makes one for a machine on which sizes are wrong by up to errors.
type Named struct {
	Name string
	New  func(cores, errors float64) Policy
}

// Policies are those that are compared with fair sharing.
func Policies() []Named {
	return []Named{
		{string(policy.FlowConLiteral), func(float64, float64) Policy { return newGrowing(policy.FlowConLiteral) }},
		{string(policy.FlowCon), func(float64, float64) Policy { return newGrowing(policy.FlowCon) }},
		{Finish, objective(fairfinish.Finish)},
		{Balanced, objective(fairfinish.Balanced)},
		{Growth, objective(fairfinish.Growth)},
		{KnownBalanced, knowing(fairfinish.Balanced)},
		{KnownGrowth, knowing(fairfinish.Growth)},
	}
}

// The names of harmless under its three objectives, and of what bounds two of them.
const (
	Finish        = "harmless finish"
	Balanced      = "harmless balanced"
	Growth        = "harmless growth"
	KnownBalanced = "known balanced"
	KnownGrowth   = "known growth"
)

func objective(o fairfinish.Objective) func(cores, errors float64) Policy {
	return func(cores, errors float64) Policy {
		return &harmless{errors: errors, learned: map[int]*learned{}, config: fairfinish.Config{
			Objective: o, Floor: fairfinish.DefaultFloor, Interval: interval, Cores: growth.MilliCPU(1000 * cores),
		}}
	}
}

func knowing(o fairfinish.Objective) func(cores, errors float64) Policy {
	return func(cores, _ float64) Policy { return known{o, cores} }
}

// Fair is processor sharing: the same weight for everyone at all times.
type Fair struct{}

// Decide gives everyone the same.
func (Fair) Decide(_ float64, running, _ []*Running) ([]float64, float64) {
	shares := make([]float64, len(running))
	for i := range shares {
		shares[i] = 1
	}
	return shares, math.Inf(1)
}

// harmless is package fairfinish.
type harmless struct {
	config  fairfinish.Config
	errors  float64
	state   fairfinish.State
	learned map[int]*learned
}

// alert says that it is asked, too, when a metric is told to be good.
func (p *harmless) alert() {}

func (p *harmless) Decide(now float64, running, ended []*Running) ([]float64, float64) {
	var jobs []fairfinish.Job
	for _, r := range running {
		j := identified(r)
		j.Remaining = remaining.FromDeclared(growth.CoreSeconds(r.Work*r.Wrong), growth.CoreSeconds(r.Done), p.errors)
		switch {
		case r.Losses != nil:
			j.Remaining, j.ToTarget, j.TargetFromSimilar = p.learn(r, j.Remaining)
		case r.Done < r.Need-dust:
			j.ToTarget = remaining.FromDeclared(growth.CoreSeconds(r.Need*r.Wrong), growth.CoreSeconds(r.Done), p.errors)
		default:
			j.ToTarget = remaining.Exact(0) // that it is reached is seen, not believed
		}
		jobs = append(jobs, j)
	}
	for _, r := range ended {
		j := identified(r)
		j.Finished = true
		jobs = append(jobs, j)
	}
	var d fairfinish.Decision
	p.state, d = fairfinish.Decide(p.config, p.state, date(now), jobs)
	shares := make([]float64, len(running))
	for i, g := range d.Grants {
		shares[i] = float64(g.Share)
	}
	return shares, d.Next.Seconds()
}

func identified(r *Running) fairfinish.Job {
	return fairfinish.Job{ID: id(r), Used: growth.CoreSeconds(r.Done), Limit: growth.MilliCPU(1000 * r.Limit)}
}

func id(r *Running) growth.PodUID { return growth.PodUID(strconv.Itoa(r.Index)) }

func date(seconds float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(growth.Seconds(seconds).Duration())
}
