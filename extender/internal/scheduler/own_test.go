package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
)

// Pod after pod goes to one node before its view shows the first of them.
func TestAReplicaDoesNotOvertakeItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24, 24)
		var pods []growth.PodRef
		for i := range 7 {
			pods = append(pods, clustertest.Ref(c.Create(clustertest.Pod(fmt.Sprintf("p%d", i), "8Gi", 8))))
		}
		c.Settle()
		d := c.Decider(c.Keeper)
		conflicts := 0
		d.View, d.Conflicted = lagging{c.Keeper.Snapshot()}, func() { conflicts++ }
		for _, pod := range pods[:6] {
			require.NoError(t, d.Bind(t.Context(), pod, "n"))
		}
		require.ErrorIs(t, d.Bind(t.Context(), pods[6], "n"), scheduler.ErrNoRoom)
		require.Zero(t, conflicts)
		on := map[growth.GPU]int{}
		for _, r := range c.Reservations("n") {
			on[r.GPUs[0].GPU]++
		}
		require.Equal(t, map[growth.GPU]int{"n-a": 3, "n-b": 3}, on)
	})
}

// What another replica wrote in between is not overlooked.
func TestAReplicaThatWasOvertakenReadsTheBooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.New(t)
		c.Node("n", 24)
		var pods []growth.PodRef
		for i := range 4 {
			pods = append(pods, clustertest.Ref(c.Create(clustertest.Pod(fmt.Sprintf("p%d", i), "8Gi", 8))))
		}
		c.Settle()
		mine, other := c.Decider(c.Keeper), c.Decider(c.Keeper)
		conflicts := 0
		mine.View, other.View = lagging{c.Keeper.Snapshot()}, lagging{c.Keeper.Snapshot()}
		mine.Conflicted = func() { conflicts++ }
		require.NoError(t, mine.Bind(t.Context(), pods[0], "n"))
		require.NoError(t, other.Bind(t.Context(), pods[1], "n"))
		require.NoError(t, mine.Bind(t.Context(), pods[2], "n"))
		require.ErrorIs(t, mine.Bind(t.Context(), pods[3], "n"), scheduler.ErrNoRoom)
		require.Equal(t, 2, conflicts, "for the third pod, and for the fourth, of which the view could not tell either")
		require.Len(t, c.Reservations("n"), 3)
	})
}
