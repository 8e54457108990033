package movechaos_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/movechaos"
	"github.com/trellis-gpu/trellis/growth/move"
)

func TestRows_KillEachProgramInEachState(t *testing.T) {
	killed := map[string]map[move.State]bool{}
	for _, row := range movechaos.Rows() {
		if killed[row.Victim] == nil {
			killed[row.Victim] = map[move.State]bool{}
		}
		require.False(t, killed[row.Victim][row.State], "%s is there once", row)
		killed[row.Victim][row.State] = true
		require.Equal(t, row.State == move.Aborted, row.Unsaved(), "%s", row)
	}
	require.Equal(t, movechaos.Victims(), victims())
	for victim, states := range killed {
		for _, state := range []move.State{
			move.Proposed, move.Saving, move.Saved, move.Evicted, move.Placed, move.Restored, move.Done, move.Aborted,
		} {
			explained := movechaos.LeftOut()[state] != ""
			require.NotEqual(t, states[state], explained, "%s is killed in state %s, or the table says why not", victim, state)
		}
	}
	for _, row := range movechaos.RankRows() {
		require.True(t, killed[row.Victim][row.State], "%s is a row of the matrix too", row)
	}
}

// victims returns those of the rows, in their order.
func victims() (all []string) {
	for _, row := range movechaos.Rows() {
		if len(all) == 0 || all[len(all)-1] != row.Victim {
			all = append(all, row.Victim)
		}
	}
	return all
}
