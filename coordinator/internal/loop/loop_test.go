package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
)

func TestAConvergedJobGivesToOneThatGrows(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.pass(time.Second)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests(), "nothing is known yet: no change")

		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests(), "the floor of two is a quarter")
		old := w.sample("old")
		require.Equal(t, growth.Converged, old.Category)
		require.Equal(t, growth.Progressing, w.sample("young").Category)
		require.Equal(t, growth.MilliCPU(250), old.CPURequest)
		require.Equal(t, growth.Share(0.25), old.Share)
		require.Equal(t, int64(250), old.Weight)
		require.Equal(t, growth.Core, old.CPUUsed)
		require.Equal(t, []growth.GPU{"GPU-1"}, old.GPUs)
		require.Equal(t, growth.PerSecond(6.4), old.SamplesPerSecond)
		require.Equal(t, growth.Seconds(0.5), old.StepSeconds)
		require.Equal(t, growth.Seconds(0.125), old.LoadSeconds)
		require.Equal(t, string(growth.Converged), w.noted["old"][gpushare.CategoryAnnotation])
		require.Equal(t, bus.NodeLoad{CPUPool: 1000, CPUUsed: 2000, LoaderBudget: 0, Policy: "flowcon"}, w.load)
		require.Equal(t, "train=500m", w.pods[ref("old").UID].Annotations[gpushare.RequestAnnotation])
		require.Equal(t, 1, w.told("old CategoryChanged: Progressing → Watching"))
		require.Equal(t, 1, w.told("old CategoryChanged: Watching → Converged"))
		require.Equal(t, 1, w.told("old CPUShareChanged: CPU request 500m → 250m, 25% of the node's pool: its cgroup's weight is 250"))
	})
}

func TestArrivalAndDepartureWaitForNoInterval(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		w.arrive("new")
		w.pass(time.Second)
		got := w.requests()
		require.Greater(t, got["new"], got["old"])
		require.LessOrEqual(t, got["new"]+got["old"]+got["young"], growth.MilliCPU(1500))

		w.remove("young")
		w.remove("new")
		w.pass(time.Second)
		require.Equal(t, growth.MilliCPU(500), w.requests()["old"], "alone it has what it was made with")
		require.ElementsMatch(t, []growth.PodUID{"uid-young", "uid-new"}, w.forgot)
		require.Equal(t, map[string]bool{"slot-old": true}, w.open)
	})
}

func TestAnAPIServerThatIsAwayIsTriedAgain(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.refuse = context.DeadlineExceeded
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests())
		require.NotZero(t, w.told("ResizeFailed"))
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		w.pass(interval)
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
	})
}

func TestABusThatIsAwayStopsNothing(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("young")
		w.arrive("old")
		w.pass(time.Second)
		w.bus.Fail(bus.ErrUnavailable)
		w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
	})
}

func TestARestartedCoordinatorGoesOn(t *testing.T) {
	for name, from := range map[string]struct{ bus, node bool }{
		"with its samples on the bus": {bus: true}, "with what it kept on the node": {node: true}, "with what is on the pods": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				stop := w.start(policy.FlowCon)
				w.arrive("young")
				w.arrive("old")
				w.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
				stop()

				for uid, s := range w.samples {
					if from.bus {
						w.put(bus.SampleKey(uid), encode(t, s))
					}
					pod := w.pods[uid]
					pod.Annotations[gpushare.CategoryAnnotation] = string(s.Category)
				}
				w.samples, w.targets, w.events = map[growth.PodUID]bus.Sample{}, nil, nil
				if !from.node {
					w.memory = node.Memory{}
				}
				w.start(policy.FlowCon)
				for _, pod := range w.pods {
					w.loop.PodUpdated(pod)
				}
				w.pass(2 * time.Second)
				require.Empty(t, w.targets, "shares stay")
				require.Equal(t, growth.Converged, w.sample("old").Category)
				w.train(7, 3, map[string]func(int) float64{"young": falling, "old": flat})
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, w.requests())
				require.Zero(t, w.told("old CategoryChanged"))
			})
		})
	}
}
