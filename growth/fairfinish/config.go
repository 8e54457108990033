package fairfinish

import (
	"fmt"
	"strconv"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Objective says what the slack is spent on, 0..1: at 0 on jobs that end soonest, at 1 on jobs whose metric is good
// soonest.
type Objective float64

// The objectives that have a name.
const (
	Finish   Objective = 0
	Balanced Objective = 0.43
	Growth   Objective = 1
)

// ParseObjective reads a name or a number from 0 to 1.
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

// Config are the parameters of the policy.
type Config struct {
	Objective Objective
	// Floor is what every job is served at least, as a part of what fair sharing would give it, 0 to 0.5.
	Floor float64
	// Interval is the longest time between two decisions.
	Interval time.Duration
	// Cores is what the jobs can have together: the node's cores, less what others use.
	Cores growth.MilliCPU
}

// DefaultFloor keeps progress measurable: with ten jobs on a node, a fifth of a per cent of it each.
const DefaultFloor = 0.02

// Validate names the first parameter that is out of bounds.
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
