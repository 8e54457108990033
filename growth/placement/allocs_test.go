package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// The extender scores each GPU that changed, for every pod. By the prior that allocates nothing.
func TestScoreNode_AllocatesNothing(t *testing.T) {
	n := node(gpu("GPU-a", 4*gib, 4*gib), gpu("GPU-b", 8*gib))
	r := asks(4*gib, 1, 4)
	var policy placement.Policy = placement.MarginalGrowth{}
	require.Zero(t, testing.AllocsPerRun(100, func() { placement.ScoreNode(n, r, policy) }))
}
