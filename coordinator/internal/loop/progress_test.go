package loop_test

import (
	"errors"
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

func TestProgressFromTheLog(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a", gpushare.ProgressAnnotation+`=log:loss=(\S+)`)
		w.pass(time.Second)
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 3, Metrics: map[string]float64{"loss": 0.5}}, true)
		w.report("a", 9, 0.1) // from the socket: its metric does not count here
		w.pass(time.Second)
		require.Equal(t, int64(3), w.sample("a").Step)
		require.Equal(t, 0.5, w.sample("a").Value)
		w.sinks[ref("a").UID].Restarted()
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: map[string]float64{"loss": 2}}, true)
		w.pass(interval)
		require.Equal(t, int64(1), w.sample("a").Step)
	})
}

func TestProgressFromAFile(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a", gpushare.ProgressAnnotation+"=file:/results/loss")
		w.pass(time.Second)
		file := w.files[ref("a").UID]
		require.Equal(t, "/results/loss", file.Path)
		require.Empty(t, file.Container(), "kubelet has told of none yet")
		pod, _ := w.pod(ref("a").UID)
		pod.Containers = []node.Container{{Name: "train", Request: 500, ID: "5f0cdd0a3f1b"}}
		w.apply(pod)
		w.pass(time.Second)
		require.Equal(t, "5f0cdd0a3f1b", file.Container())

		file.failing(errors.New("there is none"))
		file.failing(errors.New("there is none"))
		w.pass(time.Second)
		require.Equal(t, 1, w.told("a ProgressUnreadable: /results/loss cannot be read: there is none"))

		file.sink.Report(wire.Progress{Step: 17, TotalSteps: 90, Metrics: map[string]float64{"loss": 0.5}}, false)
		w.pass(interval)
		got := w.sample("a")
		require.Equal(t, []any{int64(17), int64(90), 0.5}, []any{got.Step, got.TotalSteps, got.Value})
	})
}

func TestStepsCountedInALogGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put(bus.SampleKey(ref("a").UID), encode(t, bus.Sample{Pod: ref("a"), Node: "node", Metric: "loss", Step: 40, Reported: true, Category: growth.Watching, Share: 1}))
		w.start(policy.FlowCon)
		w.arrive("a", gpushare.ProgressAnnotation+`=log:loss=(\S+)`)
		w.pass(time.Second)
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: map[string]float64{"loss": 0.5}}, true)
		w.pass(interval)
		require.Equal(t, int64(41), w.sample("a").Step)
		require.Equal(t, growth.Watching, w.sample("a").Category)
		w.sinks[ref("a").UID].Restarted()
		w.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: map[string]float64{"loss": 0.5}}, true)
		w.pass(interval)
		require.Equal(t, int64(1), w.sample("a").Step)
	})
}

func TestAMetricThatIsNeverReported(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a", gpushare.MetricAnnotation+"=accuracy:max")
		w.arrive("b")
		w.train(0, 9, map[string]func(int) float64{"a": falling, "b": falling})
		require.False(t, w.sample("a").Reported)
		require.Equal(t, growth.Progressing, w.sample("a").Category, "silence is not convergence")
		require.Equal(t, 1, w.told(`a MetricMissing: The job reports loss but not "accuracy"`))
	})
}

func TestBadLinesAreToldOnceAMinute(t *testing.T) {
	in(t, policy.FlowCon, func(t *testing.T, w *world) {
		w.arrive("a")
		for range 30 {
			w.loop.Socket("slot-a", socket.Faults{Malformed: 9, Last: wire.ErrMalformed})
			w.pass(time.Second)
		}
		w.loop.Socket("slot-nobody", socket.Faults{Malformed: 9, Last: wire.ErrMalformed})
		w.pass(time.Second)
		require.Equal(t, 1, w.told("a BadLines"))
	})
}
