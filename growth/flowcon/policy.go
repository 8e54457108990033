package flowcon

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Config holds the parameters of the policies.
type Config struct {
	// Alpha is FlowCon's threshold of raw G. Only policy.FlowConLiteral uses it.
	Alpha float64
	// Beta sets the floor 1/(β·n), 1 to 4. The thesis gives no value; its example shows 2.
	Beta float64
	// Interval is the base of the decision interval.
	Interval time.Duration
}

const (
	// MaxBackoff is the largest interval of a node whose jobs have all converged, in base intervals.
	MaxBackoff = 16
	// Deadband is the change of a share below which growth alone changes no share.
	Deadband growth.Share = 0.05
	// Dwell is the minimum time between two changes due to growth alone.
	Dwell = 10 * time.Second
)

// Validate returns an error for the first parameter that is out of bounds.
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

// Job is a job before a decision.
type Job struct {
	ID growth.PodUID
	// Samples, Growth, Raw and Category are from the job's last efficiency.Reading.
	Samples  int
	Growth   growth.Growth
	Raw      efficiency.PerWork
	Category growth.Category
	// Silent is set if the job has had enough time to report and has not.
	Silent bool
	// FloorOnly is set if the job has nothing to gain: its metric is not finite, or has reached its target. The job gets the
	// least that the policy gives.
	FloorOnly bool
	// Weight and Share are from the last decision; 0 for a new job.
	Weight float64
	Share  growth.Share
	// Changed is the time of the last change of Share.
	Changed time.Time
}

// unrated reports whether the job's growth is still unknown.
func (j Job) unrated() bool { return j.Samples < 2 && !j.FloorOnly }

// Input is the input of a decision.
type Input struct {
	Jobs []Job
	// Interrupted is set if the set of jobs or a category has changed since the last decision.
	Interrupted bool
	// Interval is the present decision interval.
	Interval time.Duration
}

// Decision is a division of the node.
type Decision struct {
	// Grants has one grant for each job, in the order of the input. Their shares add up to 1.
	Grants []Grant
	// Interval is the time until the next decision, unless it is interrupted.
	Interval time.Duration
}

// Grant is the share of one job.
type Grant struct {
	ID growth.PodUID
	// Category is the category from the input. policy.FlowConLiteral determines its own.
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
	return Decision{Grants: equal(in.Jobs, "fair: equal shares"), Interval: c.Interval}
}

// equal gives every job the same share, with weight 1.
func equal(jobs []Job, reason string) []Grant {
	grants := make([]Grant, len(jobs))
	for i, j := range jobs {
		grants[i] = Grant{
			ID:       j.ID,
			Category: j.Category,
			Weight:   1,
			Share:    1 / growth.Share(len(jobs)),
			Reason:   reason,
		}
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
