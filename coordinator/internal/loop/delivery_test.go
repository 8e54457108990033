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

func TestAdviceIsDeliveredAndAcknowledged(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a")
		w.pass(time.Second)
		two, four := 2, 4
		w.say("a", wire.Progress{Step: 1, Loaders: &two})
		w.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 7, Loaders: &four, BatchSize: &four, Reason: "more cores"}))
		w.pass(time.Second)
		require.Equal(t, wire.Config{Generation: 7, Values: wire.Values{Loaders: &four}}, w.sent["slot-a"], "batch size is not for us to change")

		w.loop.Socket("slot-a", socket.Delivered{Generation: 7})
		w.say("a", wire.Ack{Generation: 8, Applied: wire.Values{Loaders: &two}})
		w.pass(time.Second)
		require.Zero(t, w.sample("a").Applied, "what was never sent can not be acknowledged")

		w.say("a", wire.Ack{Generation: 7, Applied: wire.Values{Loaders: &four}})
		w.pass(time.Second)
		got := w.sample("a")
		require.Equal(t, []int64{7, 7, 4}, []int64{got.Generation, got.Applied, int64(*got.Loaders)})
		require.Equal(t, 1, w.told("a LoadersChanged: Data-loader workers: 2 → 4, acknowledged by the job (more cores)"))
	})
}

func TestWhatAJobLoadsWithIsNewsThatDoesNotWait(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a")
		w.arrive("b")
		w.pass(time.Second)
		two, one := 2, 1
		w.say("b", wire.Progress{Step: 1})
		w.say("a", wire.Progress{Step: 1, Loaders: &two})
		synctest.Wait()
		require.Equal(t, []string{"a"}, w.hurried)
		require.Equal(t, 2, *w.sample("a").Loaders)
		w.say("a", wire.Progress{Step: 2, Loaders: &one})
		synctest.Wait()
		require.Len(t, w.hurried, 1, "a job that changes its mind all the time has no more writes than others")
	})
}

func TestGPUTimeFollowsTheShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config.GPUTime = true
		w.start(policy.FlowCon)
		w.arrive("young")
		w.arrive("old")
		w.arrive("private", gpushare.TuneAnnotation+"=none")
		w.pass(time.Second)
		require.Empty(t, w.duties, "equal shares are not gated")
		w.train(0, 12, map[string]func(int) float64{"young": falling, "old": flat})
		require.InDelta(t, 1./3, float64(w.duties["slot-old"].Duty), .05, "a quarter of the node beside three")
		require.NotContains(t, w.duties, "slot-young", "the GPU is never idle for a gate")
		require.NotContains(t, w.duties, "slot-private")
		require.Equal(t, w.duties["slot-old"].Duty, *w.sample("old").Duty)

		four := 4
		gated := w.duties["slot-old"]
		w.put(bus.AdviceKey(ref("old").UID), encode(t, bus.Advice{Generation: 7, Loaders: &four}))
		w.pass(time.Second)
		config := w.sent["slot-old"]
		require.Equal(t, int64(7), config.Generation, "a duty takes no generation")
		require.Equal(t, gated.Duty, w.duties["slot-old"].Duty)
		w.loop.Socket("slot-old", socket.Delivered{Generation: config.Generation})
		w.say("old", wire.Ack{Generation: config.Generation, Applied: wire.Values{Loaders: &four}})
		w.pass(time.Second)
		require.Equal(t, []int64{7, 7}, []int64{w.sample("old").Generation, w.sample("old").Applied}, "the tuner sees its own count")

		w.remove("young")
		w.pass(time.Second)
		require.Equal(t, growth.Share(1), w.duties["slot-old"].Duty, "alone, it is let go")
		require.Greater(t, w.duties["slot-old"].Sequence, gated.Sequence, "else the job would not take it")
	})
}

func TestAGateIsNotLeftClosedByARestart(t *testing.T) {
	for name, divided := range map[string]bool{"GPU time is divided": true, "and not any more": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				half := growth.Share(.5)
				w.put(bus.SampleKey(ref("a").UID), encode(t, bus.Sample{Pod: ref("a"), Node: "node", Metric: "loss", Category: growth.Watching, Share: 1, Duty: &half}))
				w.config.GPUTime = divided
				w.start(policy.FlowCon)
				w.arrive("a")
				w.pass(2 * interval)
				require.Equal(t, growth.Share(1), w.duties["slot-a"].Duty)
				require.NotZero(t, w.duties["slot-a"].Sequence)
				require.Contains(t, w.sent, "slot-a", "a shim of the previous release has its duty from a config, and loses it by the next")
			})
		})
	}
}

func TestWeightsWrittenDirectlyLeaveRequestsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config.DirectWeights, w.direct = true, map[growth.PodUID]growth.MilliCPU{}
		w.start(policy.FlowCon)
		w.arrive("young")
		w.arrive("old")
		w.train(0, 9, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, map[growth.PodUID]growth.MilliCPU{"uid-young": 750, "uid-old": 250}, w.direct)
		require.Equal(t, map[string]growth.MilliCPU{"young": 500, "old": 500}, w.requests())
		require.Equal(t, 1, w.told("old CPUShareChanged"))
		_, kept := w.pods[ref("old").UID].Annotations[gpushare.RequestAnnotation]
		require.False(t, kept, "there is nothing to keep")

		w.mu.Lock()
		w.direct["uid-old"] = 9 // somebody else's hand
		w.mu.Unlock()
		w.train(9, 2, map[string]func(int) float64{"young": falling, "old": flat})
		require.Equal(t, growth.MilliCPU(250), w.direct["uid-old"])
	})
}

func TestAdviceThatIsNonsenseIsNotPassedOn(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a")
		many := 1000
		w.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 1, Loaders: &many}))
		w.put(bus.AdviceKey(ref("b").UID), []byte(`{"v":99}`))
		w.put(bus.AllocationKey("node", "uid-x"), []byte(`{"v":99}`))
		w.pass(interval)
		require.Empty(t, w.sent)
		require.NotZero(t, w.sample("a"), "and nothing else is disturbed")
	})
}

func TestASlotThatIsUsedAgainKnowsNothingOfItsFormerJob(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a")
		four := 4
		w.put(bus.AdviceKey(ref("a").UID), encode(t, bus.Advice{Generation: 7, Loaders: &four}))
		w.pass(time.Second)
		require.NotEmpty(t, w.sent)
		ended := w.pods[ref("a").UID]
		ended.Running = false
		w.apply(ended)
		w.pass(time.Second)
		require.Empty(t, w.open)
		next := ref("next")
		w.put(bus.AllocationKey("node", next.UID), encode(t, bus.Allocation{Pod: next, Containers: []bus.ContainerAllocation{{Name: "train", Slot: "slot-a"}}}))
		w.apply(node.Pod{Ref: next, Running: true, Annotations: map[string]string{gpushare.MemoryAnnotation: "1"}, Containers: []node.Container{{Name: "train", Request: 500}}})
		w.pass(time.Second)
		require.True(t, w.open["slot-a"])
		require.Empty(t, w.sent)
		w.report("a", 5, 1)
		w.pass(time.Second)
		require.Equal(t, int64(5), w.sample("next").Step)
	})
}
