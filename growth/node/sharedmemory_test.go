package node_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestSample_SharedMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		size  growth.MiB
		usage node.Usage
		want  *bus.SharedMemory
	}{
		"size and use": {64, node.Usage{SharedMemory: 21, SharedMemoryKnown: true}, &bus.SharedMemory{Size: 64, Used: 21}},
		"unused":       {64, node.Usage{SharedMemoryKnown: true}, &bus.SharedMemory{Size: 64}},
		"unknown use":  {64, node.Usage{}, nil},
		"unknown size": {0, node.Usage{SharedMemory: 21, SharedMemoryKnown: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.FlowCon, func(t *testing.T, w *harness) {
				w.arrive("a")
				pod, _ := w.pod(ref("a").UID)
				pod.SharedMemory = tc.size
				w.apply(pod)
				w.step(node.Ticked{Usages: map[growth.PodUID]node.Usage{ref("a").UID: tc.usage}})
				require.Equal(t, tc.want, w.sample("a").SharedMemory)
			})
		})
	}
}

func TestAdvice_LimitIsAnnouncedOnce(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *harness) {
		w.arrive("a", everything)
		advise := func(a bus.Advice) {
			w.advice[ref("a").UID] = a
			w.step(node.AdviceChanged{Advice: maps.Clone(w.advice)})
		}
		advise(bus.Advice{Generation: 1, Limit: "no more than 1, because /dev/shm is full"})
		require.Empty(t, w.sent, "an explanation alone changes nothing in the job")
		const event = "a LoadersLimited: Data-loader workers: no more than 1, because /dev/shm is full"
		require.Equal(t, 1, w.eventCount(event))

		two := 2
		advise(bus.Advice{Generation: 2, Loaders: &two, Limit: "no more than 2"})
		require.Equal(t, 2, *w.sent["slot-a"].Loaders)
		require.Equal(t, 1, w.eventCount("LoadersLimited"))
	})
}
