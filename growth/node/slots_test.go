package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// The caller learns which pod a slot has served last, until the slot serves another one, or for ten minutes.
func TestNode_ASlotThatGetsAnotherPod(t *testing.T) {
	served := map[string]growth.PodUID{"slot-1": "a"}
	for name, tc := range map[string]struct {
		between time.Duration
		pod     growth.PodUID
		want    map[string]growth.PodUID
	}{
		"at once":          {0, "b", served},
		"after 9 minutes":  {9 * time.Minute, "b", served},
		"after 11 minutes": {11 * time.Minute, "b", nil},
		"the same pod":     {0, "a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			n := node.New(node.Config{Policy: policy.FlowCon, Alpha: 0.1, Beta: 2, Interval: time.Second, Damping: node.KubeletDamping(time.Second)})
			give := func(pods ...growth.PodUID) node.Effects {
				var allocations []bus.Allocation
				for _, pod := range pods {
					allocations = append(allocations, bus.Allocation{
						Pod:        growth.PodRef{Namespace: "ns", Name: string(pod), UID: pod},
						Containers: []bus.ContainerAllocation{{Name: "train", Slot: "slot-1"}},
					})
				}
				return n.Step(now, node.AllocationsChanged{Allocations: allocations, Synced: true})
			}
			require.Empty(t, give("a").Leaving)
			n.Step(now, node.SlotsOpened{Slots: []string{"slot-1"}})
			require.Equal(t, []string{"slot-1"}, give().Close)

			now = now.Add(tc.between)
			e := give(tc.pod)
			require.Equal(t, []string{"slot-1"}, e.Open)
			if tc.want == nil {
				require.Empty(t, e.Leaving)
			} else {
				require.Equal(t, tc.want, e.Leaving)
			}
			n.Step(now, node.SlotsOpened{Slots: []string{"slot-1"}})
			require.Empty(t, give(tc.pod).Leaving, "it serves the pod")
		})
	}
}
