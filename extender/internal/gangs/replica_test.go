package gangs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gang"
)

func TestPlacer_StandbyKeepsTheReservationsOfTheActiveReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 8)
		standby := c.standby()
		pods := c.create("bert", 3)
		standby.pass()
		c.filter(pods)
		c.pass()
		require.Equal(t, 2, c.reserved())
		begun := time.Now()
		for time.Since(begun) < gang.DefaultLimits().Longest()-5*time.Second {
			standby.pass()
			require.Equal(t, 2, c.reserved())
		}
		// The active replica has ended.
		for range 10 {
			standby.pass()
		}
		require.Zero(t, c.reserved())
	})
}

// kube-scheduler asks again for a waiting pod after five and a half minutes at the latest.
func TestPlacer_LeavesAGangAloneAfterTheLeaderHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newCluster(t, 8)
		after := before.standby()
		other := before.Create(clustertest.Pod("other", "6Gi", 6))
		before.Settle()
		require.NoError(t, before.scheduler.Bind(t.Context(), clustertest.Ref(other), "a"))
		before.Settle()
		pods := before.create("bert", 2)
		before.filter(pods)
		before.pass()
		require.Equal(t, 1, before.reserved(), "that of the other pod")
		time.Sleep(6 * time.Minute)
		before.Delete(other)
		require.NoError(t, before.Bus.Delete(t.Context(), "/trellis/v1/nodes/a/reservations/other-uid"))
		before.Settle()
		before.pass()
		require.Zero(t, before.reserved(), "kube-scheduler does not ask this replica any more")
		after.filter(pods)
		after.pass()
		require.Equal(t, 2, before.reserved())
	})
}

func TestPlacer_KeepsWhatAnotherReplicaHasReservedSinceItWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newCluster(t, 8)
		after := before.standby()
		pods := before.create("bert", 3)
		before.filter(pods)
		before.pass()
		time.Sleep(gang.DefaultLimits().Hold / 2)
		after.filter(pods)
		after.pass()
		time.Sleep(gang.DefaultLimits().Hold / 2)
		before.pass()
		require.Zero(t, before.reserved(), "it releases its own reservations in time")
		after.pass()
		for range 5 {
			before.pass()
			require.Equal(t, 2, before.reserved())
		}
	})
}

func TestPlacer_TakesOverFromTheReplicaOfAnEarlierLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newCluster(t, 8)
		after := before.standby()
		later := before.create("later", 2)
		before.filter(later)
		before.pass()
		require.Equal(t, 2, before.reserved())
		after.pass()

		// The leader changes, and an earlier job gets its pods.
		earlier := before.create("earlier", 2)
		for _, pod := range earlier {
			pod.CreationTimestamp.Time = later[0].CreationTimestamp.Add(-time.Hour)
			before.Update(pod)
		}
		before.Settle()
		after.filter(later)
		after.filter(earlier)
		after.pass()
		after.pass()
		fit, _ := after.filter(earlier)
		require.Equal(t, [][]string{{"a"}, {"a"}}, fit, "the later one has released its room")

		// The replica of the earlier leader does not know that it has ended.
		for range 5 {
			before.pass()
			for _, pod := range earlier {
				require.Contains(t, before.Reservations("a"), growth.PodUID(pod.UID))
			}
		}
		for _, pod := range earlier {
			require.NoError(t, after.scheduler.Bind(t.Context(), clustertest.Ref(pod), "a"))
		}
	})
}
