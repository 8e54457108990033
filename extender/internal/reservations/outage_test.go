package reservations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/probes"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/metrics"
	extenderprobes "github.com/trellis-gpu/trellis/extender/internal/probes"
	"github.com/trellis-gpu/trellis/extender/internal/reconcile"
	"github.com/trellis-gpu/trellis/extender/internal/reservations"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// replica is an extender with its own view, memory and connections.
type replica struct {
	keeper  *cache.Keeper
	decider *scheduler.Decider
	sweeper *reconcile.Sweeper
	probes  *probes.Probes
}

func newReplica(c *clustertest.Cluster) replica {
	held := &reservations.Held{}
	r := replica{keeper: c.Replica(), sweeper: c.Sweeper()}
	r.decider = c.Decider(r.keeper)
	r.decider.Held, r.sweeper.Held, r.sweeper.View, r.sweeper.Reserver = held, held, r.keeper, r.decider
	registry := metrics.New(r.keeper, held, scheduler.Outcomes(), reconcile.Kinds(), reconcile.Failures()).Registry
	r.probes = extenderprobes.New(r.keeper, held, registry)
	return r
}

func (r replica) says(path string) string {
	answer := httptest.NewRecorder()
	r.probes.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return answer.Body.String()
}

// TestAnEtcdThatIsAwayCostsNothing stops a real etcd under two replicas, has them bind on, starts it again, and looks for
// everything that was decided.
func TestAnEtcdThatIsAwayCostsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for real time-outs")
	}
	etcd := clustertest.NewEtcd(t)
	c := clustertest.On(t, etcd.Open)
	c.Node("n", 8, 8)
	c.Node("m", 8, 8)
	replicas := []replica{newReplica(c), newReplica(c)}
	eventually := func(what string, holds func(r replica) bool) {
		t.Helper()
		for _, r := range replicas {
			require.Eventually(t, func() bool { return holds(r) }, 30*time.Second, 10*time.Millisecond, what)
		}
	}
	eventually("the view is complete", func(r replica) bool {
		s := r.keeper.Snapshot()
		return s.Synced && s.Node("n") != nil && s.Node("n").Obstacle == "" && s.Node("m") != nil && s.Node("m").Obstacle == ""
	})
	var pods []*corev1.Pod
	bind := func(r replica, node growth.NodeName) {
		t.Helper()
		pod := c.Create(clustertest.Pod(fmt.Sprintf("p%d", len(pods)), "4Gi", 4))
		pods = append(pods, pod)
		begun := time.Now()
		require.NoError(t, r.decider.Bind(t.Context(), clustertest.Ref(pod), node))
		require.Less(t, time.Since(begun), 4*time.Second, "before the scheduler gives up")
		eventually("the pod is seen", func(r replica) bool {
			seen, ok := r.keeper.Snapshot().Pods.Get(growth.PodUID(pod.UID))
			return ok && seen.Node == node
		})
	}
	bind(replicas[0], "n")

	etcd.Stop()
	bind(replicas[0], "n") // nobody has noticed yet
	bind(replicas[1], "m")
	eventually("the outage is noticed", func(r replica) bool { return r.keeper.Snapshot().Away != nil })
	bind(replicas[1], "n")
	bind(replicas[0], "n") // fills n
	full := c.Create(clustertest.Pod("too-many", "4Gi", 4))
	eventually("the pod is seen", func(r replica) bool { _, ok := r.keeper.Snapshot().Pods.Get(growth.PodUID(full.UID)); return ok })
	for _, r := range replicas {
		require.ErrorIs(t, r.decider.Bind(t.Context(), clustertest.Ref(full), "n"), scheduler.ErrNoRoom)
		require.Contains(t, r.says("/readyz"), "2 reservations are held in memory until it is back")
		require.Contains(t, r.says("/metrics"), "trellis_extender_held_reservations 2\n")
		require.Contains(t, r.says("/metrics"), "trellis_extender_bus_up 0\n")
	}

	etcd.Start()
	eventually("the bus is back", func(r replica) bool { return r.keeper.Snapshot().Away == nil })
	eventually("all is written", func(r replica) bool {
		r.sweeper.Once(t.Context())
		return r.sweeper.Held.Len() == 0 && r.says("/readyz") == "ok\n"
	})
	reserved := c.Reservations("n")
	for uid, r := range c.Reservations("m") {
		reserved[uid] = r
	}
	require.Len(t, reserved, len(pods), "nothing is lost")
	for _, pod := range pods {
		now := c.Now(pod)
		require.Equal(t, now.Annotations[gpushare.GPUAnnotation], string(reserved[growth.PodUID(pod.UID)].GPUs[0].GPU))
	}
	bind(replicas[1], "m")
	eventually("no GPU is over-committed", func(r replica) bool {
		s := r.keeper.Snapshot()
		return s.OverCommitted() == 0 && len(s.Node("n").Reservations) == 4 && len(s.Node("m").Reservations) == 2
	})
}
