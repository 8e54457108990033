package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth/policy"
)

// Settings returns the parameters of the policies, with the settings for converged jobs if some jobs declare no size.
func Settings(unsized float64, converged []policy.Converged) map[string]string {
	settings := map[string]string{
		"alpha":    strconv.FormatFloat(alpha, 'g', -1, 64),
		"beta":     strconv.FormatFloat(beta, 'g', -1, 64),
		"interval": interval.String() + " of virtual time",
	}
	if unsized > 0 {
		var all []string
		for _, c := range converged {
			all = append(all, string(c))
		}
		settings["converged"] = strings.Join(all, ", ")
		settings["jobs without a size"] = fmt.Sprintf("%g %%", 100*unsized)
	}
	return settings
}
