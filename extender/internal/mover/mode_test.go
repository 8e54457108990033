package mover_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/mover"
)

func TestMode_Set(t *testing.T) {
	for value, want := range map[string]mover.Mode{
		"off": mover.Off, "requested": mover.Requested, "dry-run": mover.DryRun, "automatic": mover.Automatic,
		"true": mover.Requested, "false": mover.Off, "1": mover.Requested,
	} {
		var m mover.Mode
		require.NoError(t, m.Set(value), value)
		require.Equal(t, want, m, value)
	}
	var m mover.Mode
	require.EqualError(t, m.Set("sometimes"), `"sometimes": off, requested, dry-run or automatic`)
	require.False(t, m.Any())
}
