package sim

import (
	"strconv"
)

// Settings returns the parameters of the policies.
func Settings() map[string]string {
	return map[string]string{
		"alpha":    strconv.FormatFloat(alpha, 'g', -1, 64),
		"beta":     strconv.FormatFloat(beta, 'g', -1, 64),
		"interval": interval.String() + " of virtual time",
	}
}
