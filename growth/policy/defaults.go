package policy

import "time"

// The defaults of a coordinator. The published figures of real nodes are measured with them.
const (
	// Default is the policy.
	Default = Harmless
	// DefaultInterval is the time between two decisions on a node.
	DefaultInterval = 5 * time.Second
	// DefaultAlpha is the fraction of a job's own peak below which its growth is low. The FlowCon thesis uses it for ten jobs.
	DefaultAlpha = 0.1
	// DefaultBeta sets the minimum share under FlowCon: no job of n gets less than 1/(beta·n).
	DefaultBeta = 2
)
