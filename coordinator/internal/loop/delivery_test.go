package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestAdvice_IsDeliveredAndAcknowledged(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a")
		h.advance(time.Second)
		two, four := 2, 4
		h.reports("a", wire.Progress{Step: 1, Loaders: &two})
		h.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{
			Generation: 7,
			Loaders:    &four,
			BatchSize:  &four,
			Reason:     "more cores",
		}))
		h.advance(time.Second)
		want := wire.Config{Generation: 7, Values: wire.Values{Loaders: &four}}
		require.Equal(t, want, h.sent["slot-a"], "the user does not permit a change of batch size")

		h.loop.Socket("slot-a", socket.Delivered{Generation: 7})
		h.message("a", wire.Ack{Generation: 8, Applied: wire.Values{Loaders: &two}})
		h.advance(time.Second)
		require.Zero(t, h.sample("a").Applied, "an acknowledgement of a config that was not sent is ignored")

		h.message("a", wire.Ack{Generation: 7, Applied: wire.Values{Loaders: &four}})
		h.advance(time.Second)
		got := h.sample("a")
		require.Equal(t, []int64{7, 7, 4}, []int64{got.Generation, got.Applied, int64(*got.Loaders)})
		require.Equal(t, 1, h.countEvents("a LoadersChanged: Data-loader workers: 2 → 4, acknowledged by the job (more cores)"))
	})
}

func TestSample_WithNewLoadersIsUrgent(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a")
		h.arrive("b")
		h.advance(time.Second)
		two, one := 2, 1
		h.reports("b", wire.Progress{Step: 1})
		h.reports("a", wire.Progress{Step: 1, Loaders: &two})
		synctest.Wait()
		require.Equal(t, []string{"a"}, h.urgent)
		require.Equal(t, 2, *h.sample("a").Loaders)
		h.reports("a", wire.Progress{Step: 2, Loaders: &one})
		synctest.Wait()
		require.Len(t, h.urgent, 1, "a job that changes its loaders often has no more writes than others")
	})
}

// A shim keeps the duty that a coordinator of an earlier release has sent.
func TestDuty_OfAnEarlierReleaseEnds(t *testing.T) {
	for name, gpuTime := range map[string]policy.GPUTime{"with GPU time": policy.GPUTimeOn, "without GPU time": policy.GPUTimeOff} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				half := growth.Share(.5)
				h.put(bus.SampleKey(ref("a").UID), encode(t, bus.Sample{
					Pod:      ref("a"),
					Node:     "node",
					Metric:   "loss",
					Category: growth.Watching,
					Share:    1,
					Duty:     &half,
				}))
				h.config.GPUTime = gpuTime
				h.start(policy.FlowCon)
				h.arrive("a")
				h.arrive("b")
				h.advance(2 * interval)
				require.Equal(t, map[string]wire.Duty{"slot-a": {Sequence: 1, Duty: 1}}, h.duties)
				require.Contains(t, h.sent, "slot-a", "a config ends the duty of a shim of an even earlier release")
			})
		})
	}
}

func TestDirectWeights_LeaveRequestsUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.config.DirectWeights = true
		h.direct = map[growth.PodUID]growth.MilliCPU{}
		h.start(policy.FlowCon)
		h.arrive("young")
		h.arrive("old")
		h.train(0, 9, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[growth.PodUID]growth.MilliCPU{"uid-young": 750, "uid-old": 250}, h.direct)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, h.requests())
		require.Equal(t, 1, h.countEvents("old CPUShareChanged"))
		_, kept := h.pods[ref("old").UID].Annotations[gpushare.RequestAnnotation]
		require.False(t, kept, "the request does not change, so there is none to save")

		h.mu.Lock()
		h.direct["uid-old"] = 9 // changed by another program
		h.mu.Unlock()
		h.train(9, 2, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, growth.MilliCPU(250), h.direct["uid-old"])
	})
}

func TestAdvice_InvalidIsNotDelivered(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a")
		many := 1000
		h.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 1, Loaders: &many}))
		h.put(bus.AdviceKey(ref("b").UID), []byte(`{"v":99}`))
		h.put(bus.AllocationKey("node", "uid-x"), []byte(`{"v":99}`))
		h.advance(interval)
		require.Empty(t, h.sent)
		require.NotZero(t, h.sample("a"), "other jobs are not affected")
	})
}

func TestSlot_IsResetWhenItIsReused(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a")
		four := 4
		h.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 7, Loaders: &four}))
		h.advance(time.Second)
		require.NotEmpty(t, h.sent)
		ended := h.pods[ref("a").UID]
		ended.Running = false
		h.apply(ended)
		h.advance(time.Second)
		require.Empty(t, h.open)
		h.runInSlot("next", "slot-a")
		h.advance(time.Second)
		require.True(t, h.open["slot-a"])
		require.Empty(t, h.sent)
		h.report("a", 5, 1)
		h.advance(time.Second)
		require.Equal(t, int64(5), h.sample("next").Step)
	})
}

// A pod that is deleted by force runs on while kubelet gives its devices to the next one: its shim would connect again.
func TestLoop_ASlotOpensOnceTheProcessesOfItsLastPodHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.start(policy.FlowCon)
		h.arrive("a")
		h.advance(time.Second)
		require.True(t, h.open["slot-a"])
		h.lingers(ref("a").UID, true)
		h.remove("a")
		h.withdraw(bus.AllocationKey("node", ref("a").UID))
		h.advance(time.Second)
		require.Empty(t, h.open)

		h.runInSlot("next", "slot-a")
		h.advance(5 * interval)
		require.Empty(t, h.open)
		h.report("a", 5, 1)
		h.advance(time.Second)
		require.Zero(t, h.sample("next").Step)

		h.lingers(ref("a").UID, false)
		h.advance(interval)
		require.True(t, h.open["slot-a"])
		h.report("a", 7, 1)
		h.advance(time.Second)
		require.Equal(t, int64(7), h.sample("next").Step)
	})
}

// runInSlot lets a pod arrive in a slot.
func (h *harness) runInSlot(name, slot string) {
	h.put(bus.AllocationKey("node", ref(name).UID), encode(h.t, bus.Allocation{
		Pod:        ref(name),
		Containers: []bus.ContainerAllocation{{Name: "train", Slot: slot}},
	}))
	h.apply(node.Pod{
		Ref:         ref(name),
		Running:     true,
		Annotations: map[string]string{gpushare.MemoryAnnotation: "1"},
		Containers:  []node.Container{{Name: "train", Request: 500}},
	})
}
