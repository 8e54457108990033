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

func TestLoop_ConvergedJobGivesCPUToGrowingJob(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("young")
		h.arrive("old")
		h.advance(time.Second)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, h.requests(), "no growth is known yet")

		h.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, h.requests(), "the minimum share of two jobs is a quarter")
		old := h.sample("old")
		require.Equal(t, growth.Converged, old.Category)
		require.Equal(t, growth.Progressing, h.sample("young").Category)
		require.Equal(t, growth.MilliCPU(250), old.CPURequest)
		require.Equal(t, growth.Share(0.25), old.Share)
		require.Equal(t, int64(250), old.Weight)
		require.Equal(t, growth.Core, old.CPUUsed)
		require.Equal(t, &bus.SharedMemory{Size: 64, Used: 21}, old.SharedMemory)
		require.Equal(t, []growth.GPU{"GPU-1"}, old.GPUs)
		require.Equal(t, growth.PerSecond(6.4), old.SamplesPerSecond)
		require.Equal(t, growth.Seconds(0.5), old.StepSeconds)
		require.Equal(t, growth.Seconds(0.125), old.LoadSeconds)
		require.Equal(t, string(growth.Converged), h.annotations["old"][gpushare.CategoryAnnotation])
		require.Equal(t, bus.NodeLoad{CPUPool: 1000, CPUUsed: 2000, CPUCapacity: 2000, LoaderBudget: 0, Policy: "flowcon"}, h.load)
		require.Equal(t, "train=500m", h.pods[ref("old").UID].Annotations[gpushare.RequestAnnotation])
		require.Equal(t, 1, h.countEvents("old CategoryChanged: Progressing → Watching"))
		require.Equal(t, 1, h.countEvents("old CategoryChanged: Watching → Converged"))
		require.Equal(t, 1, h.countEvents("old CPUShareChanged: CPU request 500m → 250m, 25% of the node's pool: its cgroup's weight is 250"))
	})
}

func TestLoop_DecidesSoonAfterArrivalAndDeparture(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("young")
		h.arrive("old")
		h.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		h.arrive("new")
		h.advance(time.Second)
		got := h.requests()
		require.Greater(t, got["new"], got["old"])
		require.LessOrEqual(t, got["new"]+got["old"]+got["young"], growth.MilliCPU(1500))

		h.remove("young")
		h.remove("new")
		h.advance(time.Second)
		require.Equal(t, growth.MilliCPU(500), h.requests()["old"], "a single job has its original request")
		require.ElementsMatch(t, []growth.PodUID{"uid-young", "uid-new"}, h.forgotten)
		require.Equal(t, map[string]bool{"slot-old": true}, h.open)
	})
}

func TestLoop_RetriesResizesWhenTheAPIServerIsUnavailable(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("young")
		h.arrive("old")
		h.resizeErr = context.DeadlineExceeded
		h.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, h.requests())
		require.NotZero(t, h.countEvents("ResizeFailed"))
		h.mu.Lock()
		h.resizeErr = nil
		h.mu.Unlock()
		h.advance(interval)
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, h.requests())
	})
}

func TestLoop_ContinuesWhileTheBusIsUnavailable(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("young")
		h.arrive("old")
		h.advance(time.Second)
		h.bus.Fail(bus.ErrUnavailable)
		h.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, h.requests())
	})
}

func TestLoop_ContinuesAfterARestart(t *testing.T) {
	for name, from := range map[string]struct{ bus, node bool }{
		"with its samples on the bus":    {bus: true},
		"with its memory on the node":    {node: true},
		"with the requests of pods only": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				stop := h.start(policy.FlowCon)
				h.arrive("young")
				h.arrive("old")
				h.train(0, 7, map[string]func(int) float64{"young": falling, "old": flat})
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, h.requests())
				stop()

				for uid, s := range h.samples {
					if from.bus {
						h.put(bus.SampleKey(uid), encode(t, s))
					}
					pod := h.pods[uid]
					pod.Annotations[gpushare.CategoryAnnotation] = string(s.Category)
				}
				h.samples = map[growth.PodUID]bus.Sample{}
				h.resizes = nil
				h.events = nil
				if !from.node {
					h.memory = node.Memory{}
				}
				h.start(policy.FlowCon)
				for _, pod := range h.pods {
					h.loop.PodUpdated(pod)
				}
				h.advance(2 * time.Second)
				require.Empty(t, h.resizes, "shares do not change")
				require.Equal(t, growth.Converged, h.sample("old").Category)
				h.train(7, 3, map[string]func(int) float64{"young": falling, "old": flat})
				require.Equal(t, map[string]growth.MilliCPU{"young": 750, "old": 250}, h.requests())
				require.Zero(t, h.countEvents("old CategoryChanged"))
			})
		})
	}
}
