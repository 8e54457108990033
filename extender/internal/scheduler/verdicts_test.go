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

// TestWhatIsRememberedIsWhatWouldBeFound asks a decider that has followed a cluster all along, and one that has just seen
// it for the first time and so remembers nothing. One of the pods holds a reservation itself, now and then.
func TestWhatIsRememberedIsWhatWouldBeFound(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 0))
			c := clustertest.New(t)
			nodes := []string{"a", "b", "c", "unheard"}
			for _, name := range nodes[:3] {
				c.Node(name, 24, 16)
			}
			pods := []*corev1.Pod{clustertest.Pod("small", "2Gi", 2), clustertest.Pod("large", "16Gi", 16), clustertest.Pod("like-large", "16Gi", 16)}
			follower := c.Scheduler(c.Cache)
			for range 30 {
				node, pod := nodes[dice.IntN(3)], growth.PodUID([]string{"x", "y", "z", "large-uid"}[dice.IntN(4)])
				if key := bus.ReservationKey(growth.NodeName(node), pod); dice.IntN(3) == 0 {
					require.NoError(t, c.Bus.Delete(t.Context(), key))
				} else {
					gpu := growth.GPU(fmt.Sprintf("%s-%c", node, 'a'+rune(dice.IntN(2))))
					clustertest.Record(c, key, bus.Reservation{GPUs: []growth.GPUShare{{GPU: gpu, Memory: growth.MiB(1+dice.IntN(16)) * growth.GiB}}})
				}
				c.Settle()
				newcomer := c.Scheduler(c.Replica())
				c.Settle()
				for _, pod := range pods {
					want, err := newcomer.Filter(pod, nodes)
					require.NoError(t, err)
					got, err := follower.Filter(pod, nodes)
					require.NoError(t, err)
					require.Equal(t, want.Statuses, got.Statuses)
					want.Release() // so that what is used again is looked at, too
					got.Release()
					require.Equal(t, newcomer.Prioritize(pod, nodes).Points, follower.Prioritize(pod, nodes).Points)
				}
			}
		})
	}
}
