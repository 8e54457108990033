package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestName_ValidateAcceptsOnlyTheConstants(t *testing.T) {
	for _, known := range []policy.Name{policy.Fair, policy.FlowConLiteral, policy.FlowCon, policy.QoreDL, policy.Harmless} {
		require.NoError(t, known.Validate())
	}
	require.EqualError(t, policy.Name("greedy").Validate(), `policy "greedy": one of fair, flowcon-literal, flowcon, qore-dl, harmless`)
	require.Error(t, policy.Name("").Validate())
}

func TestConverged_ValidateAcceptsOnlyTheConstants(t *testing.T) {
	for _, known := range []policy.Converged{"", policy.ConvergedFair, policy.ConvergedFloor} {
		require.NoError(t, known.Validate())
	}
	require.EqualError(t, policy.Converged("none").Validate(), `converged "none": fair or floor`)
}
