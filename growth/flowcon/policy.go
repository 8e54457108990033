package flowcon

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Config are the parameters of every policy.
type Config struct {
	// Alpha is FlowCon's threshold of raw G. Only policy.FlowConLiteral uses it.
	Alpha float64
	// Beta sets the floor 1/(β·n), 1 to 4. The thesis gives no value; its example shows 2.
	Beta float64
	// Interval is the base of the decision interval.
	Interval time.Duration
}

const (
	// MaxBackoff bounds the interval of a node whose jobs have all converged, in base intervals.
	MaxBackoff = 16
	// Deadband is the greatest change of a share that growth alone does not bring about.
	Deadband growth.Share = 0.05
	// Dwell is the least time between two changes that growth alone brings about.
	Dwell = 10 * time.Second
)

// Validate names the first parameter that is out of bounds.
func (c Config) Validate() error {
	switch {
	case !(c.Alpha > 0 && c.Alpha < 1):
		return fmt.Errorf("alpha %g: more than 0 and less than 1", c.Alpha)
	case !(c.Beta >= 1 && c.Beta <= 4):
		return fmt.Errorf("beta %g: 1 to 4", c.Beta)
	case c.Interval < time.Second || c.Interval > time.Hour:
		return fmt.Errorf("interval %s: 1s to 1h", c.Interval)
	}
	return nil
}

// Job is one job as it stands before a decision.
type Job struct {
	ID growth.PodUID
	// Samples, Growth, Raw and Category are the classifier's.
	Samples  int
	Growth   growth.Growth
	Raw      efficiency.PerCoreSecond
	Category growth.Category
	// Silent says that the job has had time to report and has not.
	Silent bool
	// Weight and Share are those of the last decision; 0 for a job that was in none.
	Weight float64
	Share  growth.Share
	// Changed is when Share last changed.
	Changed time.Time
}

// newcomer tells that the job's growth is not known yet.
func (j Job) unrated() bool { return j.Samples < 2 }

// Input is what a decision is taken on.
type Input struct {
	Jobs []Job
	// Interrupted says that the set of jobs or a category has changed since the last decision.
	Interrupted bool
	// Interval is the one in force.
	Interval time.Duration
}

// Decision is what a policy makes of it.
type Decision struct {
	// Grants are one for each job, in the input's order. Their shares add up to 1.
	Grants []Grant
	// Interval is the time to the next decision, unless something interrupts it.
	Interval time.Duration
}

// Grant is one job's part.
type Grant struct {
	ID growth.PodUID
	// Category is the input's, except under policy.FlowConLiteral, which keeps its own lists.
	Category growth.Category
	Weight   float64
	Share    growth.Share
	Reason   string
}

// Decide divides a node by one of the policies of this package. Any other name divides it as policy.Fair does.
func Decide(name policy.Name, c Config, now time.Time, in Input) Decision {
	if len(in.Jobs) == 0 {
		return Decision{Interval: c.Interval}
	}
	switch name {
	case policy.FlowConLiteral:
		return literal(c, in)
	case policy.FlowCon:
		return corrected(c, now, in)
	}
	return Decision{Grants: equal(in.Jobs, "fair: every job the same"), Interval: c.Interval}
}

// equal gives everyone the same, with weight 1.
func equal(jobs []Job, reason string) []Grant {
	grants := make([]Grant, len(jobs))
	for i, j := range jobs {
		grants[i] = Grant{ID: j.ID, Category: j.Category, Weight: 1, Share: 1 / growth.Share(len(jobs)), Reason: reason}
	}
	return grants
}

func allConverged(jobs []Job) bool {
	for _, j := range jobs {
		if j.Category != growth.Converged {
			return false
		}
	}
	return true
}
