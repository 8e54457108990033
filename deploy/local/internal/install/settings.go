package install

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Settings are the choices of an installation. They reach the binaries as environment variables of their flags. A zero
// value leaves the overlay's choice.
type Settings struct {
	// GPUs is "nvml", or emulated GPUs as in --gpus of the device plugin.
	GPUs string
	// Policy is the coordinator's policy for the CPU of a node.
	Policy string
	// Objective is what policy harmless spends slack on.
	Objective string
	// Interval is the longest time between two decisions of the coordinator.
	Interval time.Duration
	// KubeletRoot is kubelet's --root-dir on the GPU nodes.
	KubeletRoot string
}

// emulated matches the emulated GPUs of a node.
const emulated = `[1-9][0-9]?x[1-9][0-9]{0,3}GiB(,compute)?(@numa=[0-9,]{1,255})?`

var (
	gpuWord         = regexp.MustCompile(`^(nvml|emulated:` + emulated + `(/[a-z0-9.-]+=` + emulated + `)*)$`)
	policyWord      = regexp.MustCompile(`^[a-z][a-z-]{0,31}$`)
	kubeletRootPath = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)
	// objectiveWord is a word or a number from 0 to 1.
	objectiveWord = regexp.MustCompile(`^([a-z]{1,16}|[01](\.[0-9]{1,6})?)?$`)
)

// Validate checks the form of the settings. The coordinator knows which policies exist.
func (s Settings) Validate() error {
	if s.GPUs != "" && !gpuWord.MatchString(s.GPUs) {
		return fmt.Errorf(`--gpus %q: write "nvml", or "emulated:2x24GiB" for two emulated GPUs of 24 GiB per node, or `+
			`"emulated:1x24GiB,compute" for one that computes on a core of the node`, s.GPUs)
	}
	if s.Policy != "" && !policyWord.MatchString(s.Policy) {
		return fmt.Errorf(`--policy %q: write the name of a policy, such as "harmless" or "fair"`, s.Policy)
	}
	if !objectiveWord.MatchString(s.Objective) {
		return fmt.Errorf(`--objective %q: write "finish", "balanced", "growth", or a number from 0 to 1`, s.Objective)
	}
	if s.Interval != 0 && (s.Interval < time.Second || s.Interval > time.Hour) {
		return fmt.Errorf("--interval %s: from 1s to 1h", s.Interval)
	}
	if s.KubeletRoot != "" && (!kubeletRootPath.MatchString(s.KubeletRoot) || path.Clean(s.KubeletRoot) != s.KubeletRoot) {
		return fmt.Errorf("--kubelet-root %q: write an absolute path without a slash at its end, such as /var/lib/k0s/kubelet", s.KubeletRoot)
	}
	return nil
}

// generators merge the settings into the ConfigMaps of the binaries.
func (s Settings) generators() []fields {
	var generators []fields
	add := func(binary string, variables ...string) {
		variables = slices.DeleteFunc(variables, func(v string) bool { return strings.HasSuffix(v, "=") })
		if len(variables) > 0 {
			generators = append(generators,
				fields{"name": binary, "namespace": Namespace, "behavior": "merge", "literals": variables})
		}
	}
	interval := ""
	if s.Interval > 0 {
		interval = s.Interval.String()
	}
	add("deviceplugin", "TRELLIS_GPUS="+s.GPUs)
	add("coordinator", "TRELLIS_POLICY="+s.Policy, "TRELLIS_OBJECTIVE="+s.Objective, "TRELLIS_INTERVAL="+interval)
	return generators
}
