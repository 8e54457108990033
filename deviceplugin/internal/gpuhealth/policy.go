package gpuhealth

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Action is the effect of an XID error on its GPU.
type Action string

// The actions of a policy.
const (
	// Ignore attributes the error to the job, not to the GPU.
	Ignore Action = "ignore"
	// Unhealthy withholds the GPU from new jobs until it has been without errors for a while.
	Unhealthy Action = "unhealthy"
	// UntilReset withholds the GPU from new jobs until a reset or a reboot.
	UntilReset Action = "unhealthy-until-reset"
)

// Policy maps XID errors to actions. Other applies to errors that are not listed.
type Policy struct {
	ByXID map[uint64]Action
	Other Action
}

// Of returns the action for an XID error.
func (p Policy) Of(xid uint64) Action {
	if action, ok := p.ByXID[xid]; ok {
		return action
	}
	return p.Other
}

// maxXID is an upper bound for XID numbers in NVIDIA's catalogue.
const maxXID = 1023

// ParsePolicy changes the default policy as described by text: "109=ignore,74=unhealthy-until-reset,other=ignore".
func ParsePolicy(text string) (Policy, error) {
	p := Policy{ByXID: maps.Clone(Default.ByXID), Other: Default.Other}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		action := Action(value)
		if action != Ignore && action != Unhealthy && action != UntilReset {
			return Policy{}, fmt.Errorf("%q: the action is none of %s, %s, %s", part, Ignore, Unhealthy, UntilReset)
		}
		if name == "other" {
			p.Other = action
			continue
		}
		xid, err := strconv.ParseUint(name, 10, 64)
		if err != nil || xid == 0 || xid > maxXID {
			return Policy{}, fmt.Errorf("%q: %q is neither the number of an XID error nor \"other\"", part, name)
		}
		p.ByXID[xid] = action
	}
	return p, nil
}
