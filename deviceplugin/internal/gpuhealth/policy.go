package gpuhealth

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Action is what an XID error does to its GPU.
type Action string

// The actions there are.
const (
	// Ignore holds it against the job, not the GPU.
	Ignore Action = "ignore"
	// Unhealthy gives the GPU to no new job until it has been quiet for a while.
	Unhealthy Action = "unhealthy"
	// UntilReset gives it to no new job until it has been reset or the node booted.
	UntilReset Action = "unhealthy-until-reset"
)

// Policy says what to do about each XID error. Other is for those that it does not name.
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

// maxXID is more than the catalogue goes up to.
const maxXID = 1023

// ParsePolicy changes the default policy as text says: "109=ignore,74=unhealthy-until-reset,other=ignore".
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
