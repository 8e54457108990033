package node

import (
	"fmt"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/efficiency"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/flowcon"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Config holds the parameters of a node.
type Config struct {
	// Policy divides the node's CPU, or the time of its GPUs.
	Policy policy.Name
	// Interval is the time between two Ticked events, and the longest time between two decisions of most policies.
	Interval time.Duration
	// Alpha is the growth below which a sample is low. Beta sets FlowCon's floor, 1/(Beta·n) for n jobs.
	Alpha, Beta float64
	// Objective selects the jobs to which policy.Harmless gives slack.
	Objective fairfinish.Objective
	// Converged decides what a converged job of unknown size can claim under policy.Harmless. Empty means
	// policy.ConvergedFair.
	Converged policy.Converged
	// DirectWeights is set if the coordinator writes CPU weights into cgroups and does not resize pods.
	DirectWeights bool
	// GPUTime decides whether the time of GPUs is divided by turns. Empty means policy.GPUTimeAuto.
	GPUTime policy.GPUTime
	// Freeze permits to freeze jobs between their turns that cannot pause themselves.
	Freeze bool
	// Ends is set if the ends of the jobs are estimated. A simulation has no use for them.
	Ends bool
	// Damping limits changes of shares.
	Damping Damping
}

// Damping limits how often shares change, and suppresses small changes. The zero value suits a machine whose weights
// change at once and at no cost, such as a simulated one.
type Damping struct {
	// Settle is the delay between an interruption and the decision. Pods often arrive in groups, and one decision then
	// serves the whole group.
	Settle time.Duration
	// Dwell is the minimum time between two decisions of policy.Harmless without an interruption.
	Dwell time.Duration
	// Deadband is the smallest change of a share that policy.Harmless makes without an interruption.
	Deadband growth.Share
}

// KubeletDamping suits a node whose kubelet resizes pods: a new weight takes effect after a few seconds.
func KubeletDamping(interval time.Duration) Damping {
	return Damping{
		Settle:   300 * time.Millisecond,
		Dwell:    min(10*time.Second, interval/2),
		Deadband: 0.02,
	}
}

// Validate returns an error that names the first parameter out of bounds.
func (c Config) Validate() error {
	if err := c.Policy.Validate(); err != nil {
		return err
	}
	if err := c.Converged.Validate(); err != nil {
		return err
	}
	if err := c.GPUTime.Validate(); err != nil {
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

// fairFinishOn returns the parameters for a number of GPUs.
func (c Config) fairFinishOn(gpus int) fairfinish.Config {
	config := c.fairFinish(growth.MilliCPU(gpus) * growth.Core)
	config.Unit = growth.GPUSecond
	return config
}

func (c Config) fairFinish(cores growth.MilliCPU) fairfinish.Config {
	return fairfinish.Config{
		Objective: c.Objective,
		Floor:     fairfinish.DefaultFloor,
		Interval:  c.Interval,
		Cores:     cores,
	}
}
