package install

import (
	"fmt"
	"regexp"
	"time"
)

// Settings are what an installation may choose. They reach the binaries as the environment twins of their flags.
type Settings struct {
	// GPUs is "nvml" or "emulated:<n>x<m>GiB".
	GPUs string
	// Policy is how the coordinator shares a node's CPU.
	Policy string
	// Objective is what policy harmless spends slack on; empty for its own default.
	Objective string
	// Interval is how often it looks at least.
	Interval time.Duration
}

var (
	gpuWord    = regexp.MustCompile(`^(nvml|emulated:[1-9][0-9]?x[1-9][0-9]{0,3}GiB)$`)
	policyWord = regexp.MustCompile(`^[a-z][a-z-]{0,31}$`)
	// objectiveWord is a word or a number from 0 to 1.
	objectiveWord = regexp.MustCompile(`^([a-z]{1,16}|[01](\.[0-9]{1,6})?)?$`)
)

// Validate checks what can be told without the binaries; which policies there are, the coordinator knows.
func (s Settings) Validate() error {
	if !gpuWord.MatchString(s.GPUs) {
		return fmt.Errorf(`--gpus %q: write "nvml", or "emulated:2x24GiB" for two emulated GPUs of 24 GiB per node`, s.GPUs)
	}
	if !policyWord.MatchString(s.Policy) {
		return fmt.Errorf(`--policy %q: write the name of a policy, such as "harmless" or "fair"`, s.Policy)
	}
	if !objectiveWord.MatchString(s.Objective) {
		return fmt.Errorf(`--objective %q: write "finish", "balanced", "growth", or a number from 0 to 1`, s.Objective)
	}
	if s.Interval < time.Second || s.Interval > time.Hour {
		return fmt.Errorf("--interval %s: from 1s to 1h", s.Interval)
	}
	return nil
}
