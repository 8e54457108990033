package sim

import (
	"strconv"

	"github.com/trellis-gpu/trellis/growth/policy"
)

// Settings are those that the policies run with.
func Settings() map[string]string {
	config := newGrowing(policy.FlowCon).config
	return map[string]string{
		"alpha":    strconv.FormatFloat(config.Alpha, 'g', -1, 64),
		"beta":     strconv.FormatFloat(config.Beta, 'g', -1, 64),
		"interval": interval.String() + " of virtual time",
	}
}
