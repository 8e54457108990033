package loop

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Config are the loop's parameters.
type Config struct {
	// Policy divides the node's CPU.
	Policy policy.Name
	// Interval is the time between two rounds of observing and deciding.
	Interval time.Duration
	// Alpha is the growth below which a sample is low, Beta sets FlowCon's floor 1/(β·n).
	Alpha, Beta float64
	// Objective says what harmless spends slack on.
	Objective fairfinish.Objective
	// Direct says that weights are written into cgroups, and requests left as they are.
	Direct bool
	// GPUTime lets shares rule how much of the time jobs that share a GPU may compute.
	GPUTime bool
}

// Validate names the first parameter that is out of bounds.
func (c Config) Validate() error {
	if err := c.Policy.Validate(); err != nil {
		return err
	}
	if c.Interval < time.Second || c.Interval > time.Hour {
		return fmt.Errorf("interval %s: 1s to 1h", c.Interval)
	}
	for _, err := range []error{c.efficiency().Validate(), c.flowCon().Validate(), c.fairFinish(growth.Core).Validate()} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c Config) efficiency() efficiency.Config { return efficiency.Config{Alpha: c.Alpha} }

func (c Config) flowCon() flowcon.Config {
	return flowcon.Config{Alpha: c.Alpha, Beta: c.Beta, Interval: c.Interval}
}

func (c Config) fairFinish(cores growth.MilliCPU) fairfinish.Config {
	return fairfinish.Config{Objective: c.Objective, Floor: fairfinish.DefaultFloor, Interval: c.Interval, Cores: cores}
}
