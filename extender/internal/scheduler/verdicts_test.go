package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// TestVerdicts_CachedEqualComputed compares a scheduler that has watched the cluster from the start with a new one, whose
// cache of verdicts is empty. One of the pods sometimes holds a reservation.
func TestVerdicts_CachedEqualComputed(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			c := clustertest.New(t)
			nodes := []string{"a", "b", "c", "unknown"}
			for _, name := range nodes[:3] {
				c.Node(name, 24, 16)
			}
			pods := []*corev1.Pod{clustertest.Pod("small", "2Gi", 2), clustertest.Pod("large", "16Gi", 16), clustertest.Pod("like-large", "16Gi", 16)}
			old := c.Scheduler(c.Cache)
			for range 30 {
				node, pod := nodes[random.IntN(3)], growth.PodUID([]string{"x", "y", "z", "large-uid"}[random.IntN(4)])
				if key := bus.ReservationKey(growth.NodeName(node), pod); random.IntN(3) == 0 {
					require.NoError(t, c.Bus.Delete(t.Context(), key))
				} else {
					gpu := growth.GPU(fmt.Sprintf("%s-%c", node, 'a'+rune(random.IntN(2))))
					clustertest.Record(c, key, bus.Reservation{GPUs: []growth.GPUShare{{GPU: gpu, Memory: growth.MiB(1+random.IntN(16)) * growth.GiB}}})
				}
				c.Settle()
				fresh := c.Scheduler(c.Replica())
				c.Settle()
				for _, pod := range pods {
					want, err := fresh.Filter(pod, nodes)
					require.NoError(t, err)
					got, err := old.Filter(pod, nodes)
					require.NoError(t, err)
					require.Equal(t, want.Statuses, got.Statuses)
					require.Equal(t, fresh.Prioritize(pod, nodes).Points, old.Prioritize(pod, nodes).Points)
				}
			}
		})
	}
}
