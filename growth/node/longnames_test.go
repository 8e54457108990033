package node_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

// TestLongNames has two pods with names of 253 characters that differ in the last one, in a namespace of 63 characters.
func TestLongNames(t *testing.T) {
	long := func(end string) node.Pod {
		return node.Pod{
			Ref: growth.PodRef{
				Namespace: strings.Repeat("n", 63),
				Name:      strings.Repeat("p", 252) + end,
				UID:       growth.PodUID("00000000-0000-0000-0000-00000000000" + end),
			},
			Running:     true,
			Annotations: map[string]string{"gpushare/gpu-mem": "1"},
			Containers:  []node.Container{{Name: strings.Repeat("c", 63), Request: 500}},
		}
	}
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		for _, end := range []string{"1", "2"} {
			pod := long(end)
			w.allocations[pod.Ref.UID] = bus.Allocation{Pod: pod.Ref, Containers: []bus.ContainerAllocation{{
				Name: pod.Containers[0].Name, Slot: "slot-" + end, GPUs: []growth.GPUShare{{GPU: "GPU-1", Memory: 1024}},
			}}}
			w.apply(pod)
		}
		w.listAllocations()
		w.report("1", 7, 0.5)
		w.report("2", 9, 0.7)
		w.pass(interval)
		steps := map[string]int64{"1": 7, "2": 9}
		for end, step := range steps {
			ref := long(end).Ref
			e, ok := w.node.Explain(ref.String())
			require.True(t, ok)
			require.Equal(t, ref, e.Pod)
			require.Equal(t, step, w.samples[ref.UID].Step)
			require.Equal(t, ref, w.samples[ref.UID].Pod)

			key, err := bus.ParseKey(bus.SampleKey(ref.UID))
			require.NoError(t, err)
			require.Equal(t, ref.UID, key.Pod, "keys have the UID, never the name")
		}
		_, ok := w.node.Explain(strings.TrimSuffix(long("1").Ref.String(), "1"))
		require.False(t, ok, "a part of a name is no pod")
	})
}
