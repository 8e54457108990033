package reservations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/daemon/etcdbus/etcdtest"
	"github.com/trellis-gpu/trellis/daemon/probes"
	"github.com/trellis-gpu/trellis/extender/internal/cache"
	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/metrics"
	extenderprobes "github.com/trellis-gpu/trellis/extender/internal/probes"
	"github.com/trellis-gpu/trellis/extender/internal/reconcile"
	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// sessionTTL is that of the connections to the bus.
const sessionTTL = 5 * time.Second

// replica is an extender with its own cache, memory and connections.
type replica struct {
	cache      *cache.Cache
	scheduler  *scheduler.Scheduler
	reconciler *reconcile.Reconciler
	probes     *probes.Probes
}

func newReplica(c *clustertest.Cluster) replica {
	r := replica{cache: c.Replica()}
	r.scheduler = c.Scheduler(r.cache)
	r.reconciler = c.Reconciler(r.scheduler)
	r.reconciler.Cache = r.cache
	assumed := r.scheduler.Assumed
	registry := metrics.New(r.cache, assumed, scheduler.Outcomes(), reconcile.Kinds(), reconcile.Failures()).Registry
	r.probes = extenderprobes.New(r.cache, assumed, registry)
	return r
}

func (r replica) get(path string) string {
	answer := httptest.NewRecorder()
	r.probes.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return answer.Body.String()
}

// TestStore_EtcdOutageLosesNothing stops the etcd of two replicas that keep binding, starts it again, and checks that every
// decision is on the bus.
func TestStore_EtcdOutageLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for real timeouts")
	}
	etcd := etcdtest.New(t)
	c := clustertest.On(t, func() bus.Bus { return etcd.Open(sessionTTL) })
	c.Node("n", 8, 8)
	c.Node("m", 8, 8)
	replicas := []replica{newReplica(c), newReplica(c)}
	eventually := func(what string, condition func(r replica) bool) {
		t.Helper()
		for _, r := range replicas {
			require.Eventually(t, func() bool { return condition(r) }, 30*time.Second, 10*time.Millisecond, what)
		}
	}
	eventually("the cache is synced", func(r replica) bool {
		s := r.cache.Snapshot()
		return s.Synced && s.Node("n") != nil && s.Node("n").Unschedulable == "" && s.Node("m") != nil && s.Node("m").Unschedulable == ""
	})
	var pods []*corev1.Pod
	bind := func(r replica, node growth.NodeName) {
		t.Helper()
		pod := c.Create(clustertest.Pod(fmt.Sprintf("p%d", len(pods)), "4Gi", 4))
		pods = append(pods, pod)
		start := time.Now()
		require.NoError(t, r.scheduler.Bind(t.Context(), clustertest.Ref(pod), node))
		require.Less(t, time.Since(start), 4*time.Second, "before the scheduler gives up")
		eventually("the snapshot has the pod", func(r replica) bool {
			seen, ok := r.cache.Snapshot().Pods.Get(growth.PodUID(pod.UID))
			return ok && seen.Node == node
		})
	}
	bind(replicas[0], "n")

	etcd.Stop()
	bind(replicas[0], "n") // before the watches notice
	bind(replicas[1], "m")
	eventually("the watches notice", func(r replica) bool { return r.cache.Snapshot().Unavailable != nil })
	bind(replicas[1], "n")
	bind(replicas[0], "n") // fills n
	full := c.Create(clustertest.Pod("too-many", "4Gi", 4))
	eventually("the snapshot has the pod", func(r replica) bool { _, ok := r.cache.Snapshot().Pods.Get(growth.PodUID(full.UID)); return ok })
	for _, r := range replicas {
		require.ErrorIs(t, r.scheduler.Bind(t.Context(), clustertest.Ref(full), "n"), scheduler.ErrNoRoom)
		require.Contains(t, r.get("/readyz"), "2 reservations are held in memory until it is back")
		require.Contains(t, r.get("/metrics"), "trellis_extender_held_reservations 2\n")
		require.Contains(t, r.get("/metrics"), "trellis_extender_bus_up 0\n")
	}

	etcd.Start()
	eventually("the bus is connected", func(r replica) bool { return r.cache.Snapshot().Unavailable == nil })
	eventually("everything is written", func(r replica) bool {
		r.reconciler.Reconcile(t.Context())
		return r.scheduler.Assumed.PendingCount() == 0 && r.get("/readyz") == "ok\n"
	})
	reserved := c.Reservations("n")
	for uid, r := range c.Reservations("m") {
		reserved[uid] = r
	}
	require.Len(t, reserved, len(pods), "nothing is lost")
	for _, pod := range pods {
		now := c.Get(pod)
		require.Equal(t, now.Annotations[gpushare.GPUAnnotation], string(reserved[growth.PodUID(pod.UID)].GPUs[0].GPU))
	}
	bind(replicas[1], "m")
	eventually("no GPU is over-committed", func(r replica) bool {
		s := r.cache.Snapshot()
		return s.OverCommitted() == 0 && len(s.Node("n").Reservations) == 4 && len(s.Node("m").Reservations) == 2
	})
}
