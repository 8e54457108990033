package fairfinish

import (
	"fmt"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Objective decides which jobs receive the slack, 0..1: at 0 those that end soonest, at 1 those that reach their target
// soonest.
type Objective float64

// Named objectives.
const (
	Finish   Objective = 0
	Balanced Objective = 0.43
	Growth   Objective = 1
)

// ParseObjective parses the name of an objective or a number from 0 to 1.
func ParseObjective(text string) (Objective, error) {
	switch text {
	case "finish":
		return Finish, nil
	case "balanced":
		return Balanced, nil
	case "growth":
		return Growth, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f <= 1 {
		return Objective(f), nil
	}
	return 0, fmt.Errorf("objective %q: finish, balanced, growth, or a number from 0 to 1", text)
}

// Config holds the parameters of the policy.
type Config struct {
	Objective Objective
	// Floor is the smallest share of a job, as a fraction of its fair share, 0 to 0.5.
	Floor float64
	// Interval is the longest time between two decisions.
	Interval time.Duration
	// Cores is the capacity for all jobs together: the node's cores minus what other pods use. A GPU counts as one core.
	Cores growth.MilliCPU
	// Unit is the unit of all work. Predictions in another unit count as unknown. With growth.GPUSecond, each job names
	// its GPUs.
	Unit growth.Unit
}

// DefaultFloor keeps the progress of every job measurable: with ten jobs on a node, each gets at least 0.2 % of it.
const DefaultFloor = 0.02

// Validate returns an error for the first parameter that is out of bounds.
func (c Config) Validate() error {
	switch {
	case !(c.Objective >= 0 && c.Objective <= 1):
		return fmt.Errorf("objective %g: 0 to 1", float64(c.Objective))
	case !(c.Floor >= 0 && c.Floor <= 0.5):
		return fmt.Errorf("floor %g: 0 to 0.5 of the fair share", c.Floor)
	case c.Interval < time.Second || c.Interval > time.Hour:
		return fmt.Errorf("interval %s: 1s to 1h", c.Interval)
	case c.Cores <= 0:
		return fmt.Errorf("%s of CPU: more than 0", c.Cores)
	}
	return nil
}
