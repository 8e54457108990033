package config

import (
	"errors"
	"fmt"

	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// Validate implements daemon.Config. With Explain, only the flags of the explanation are needed.
func (c *Config) Validate() error {
	if c.Explain != "" {
		return c.Output.Validate()
	}
	var invalid []error
	if c.Node == "" {
		invalid = append(invalid, errors.New("--node-name is empty: set it, or NODE_NAME from spec.nodeName by the downward API"))
	}
	if c.Enforce != EnforceByResize && c.Enforce != EnforceByCgroup {
		invalid = append(invalid, fmt.Errorf("--enforce %q: %s or %s", c.Enforce, EnforceByResize, EnforceByCgroup))
	}
	if _, err := fairfinish.ParseObjective(c.Objective); err != nil {
		invalid = append(invalid, fmt.Errorf("--%w", err))
	}
	if _, err := policy.ParseGPUTime(c.GPUTime); err != nil {
		invalid = append(invalid, fmt.Errorf("--%w", err))
	}
	return errors.Join(append(invalid, c.Decisions().Validate(), c.Etcd.Validate())...)
}

// Decisions returns the configuration of the node's decisions.
func (c *Config) Decisions() node.Config {
	objective, _ := fairfinish.ParseObjective(c.Objective) // Validate reports the error
	gpuTime, _ := policy.ParseGPUTime(c.GPUTime)           // likewise
	return node.Config{
		Policy:        c.Policy,
		Interval:      c.Interval,
		Alpha:         c.Alpha,
		Beta:          c.Beta,
		Objective:     objective,
		Converged:     c.Converged,
		GPUTime:       gpuTime,
		Freeze:        c.Freeze,
		Ends:          true,
		DirectWeights: c.Enforce == EnforceByCgroup,
		Damping:       node.KubeletDamping(c.Interval),
	}
}
