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

func TestProgress_IsReadFromTheLog(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a", gpushare.ProgressAnnotation+`=log:loss=(\S+)`)
		h.advance(time.Second)
		h.sinks[ref("a").UID].Report(wire.Progress{Step: 3, Metrics: wire.Metrics{{Name: "loss", Value: 0.5}}}, true)
		h.report("a", 9, 0.1) // the metric of the socket is not used
		h.advance(time.Second)
		require.Equal(t, int64(3), h.sample("a").Step)
		require.Equal(t, 0.5, h.sample("a").Value)
		h.sinks[ref("a").UID].Restarted()
		h.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: wire.Metrics{{Name: "loss", Value: 2}}}, true)
		h.advance(interval)
		require.Equal(t, int64(1), h.sample("a").Step)
	})
}

func TestProgress_IsReadFromAFile(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a", gpushare.ProgressAnnotation+"=file:/results/loss")
		h.advance(time.Second)
		file := h.files[ref("a").UID]
		require.Equal(t, "/results/loss", file.Path)
		require.Empty(t, file.Container(), "the status has no container ID yet")
		pod, _ := h.pod(ref("a").UID)
		pod.Containers = []node.Container{{Name: "train", Request: 500, ID: "5f0cdd0a3f1b"}}
		h.apply(pod)
		h.advance(time.Second)
		require.Equal(t, "5f0cdd0a3f1b", file.Container())

		file.sink.Unreadable(errors.New("there is none"))
		file.sink.Unreadable(errors.New("there is none"))
		h.advance(time.Second)
		require.Equal(t, 1, h.countEvents("a ProgressUnreadable: Progress cannot be read from /results/loss: there is none"))

		file.sink.Report(wire.Progress{Step: 17, TotalSteps: 90, Metrics: wire.Metrics{{Name: "loss", Value: 0.5}}}, false)
		h.advance(interval)
		got := h.sample("a")
		require.Equal(t, []any{int64(17), int64(90), 0.5}, []any{got.Step, got.TotalSteps, got.Value})
	})
}

func TestProgress_CountedStepsContinueAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.put(bus.SampleKey(ref("a").UID), encode(t, bus.Sample{
			Pod:      ref("a"),
			Node:     "node",
			Metric:   "loss",
			Step:     40,
			Reported: true,
			Category: growth.Watching,
			Share:    1,
		}))
		h.start(policy.FlowCon)
		h.arrive("a", gpushare.ProgressAnnotation+`=log:loss=(\S+)`)
		h.advance(time.Second)
		h.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: wire.Metrics{{Name: "loss", Value: 0.5}}}, true)
		h.advance(interval)
		require.Equal(t, int64(41), h.sample("a").Step)
		require.Equal(t, growth.Watching, h.sample("a").Category)
		h.sinks[ref("a").UID].Restarted()
		h.sinks[ref("a").UID].Report(wire.Progress{Step: 1, Metrics: wire.Metrics{{Name: "loss", Value: 0.5}}}, true)
		h.advance(interval)
		require.Equal(t, int64(1), h.sample("a").Step)
	})
}

func TestProgress_MissingMetricIsReportedOnce(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a", gpushare.MetricAnnotation+"=accuracy:max")
		h.arrive("b")
		h.train(0, 9, map[string]func(int) float64{"a": falling, "b": falling})
		require.Zero(t, h.countEvents("a MetricMissing"), "the job may evaluate its metric every n steps")
		h.train(9, 60, map[string]func(int) float64{"a": falling, "b": falling})
		require.False(t, h.sample("a").Reported)
		require.Equal(t, growth.Progressing, h.sample("a").Category, "a job without reports has not converged")
		require.Equal(t, 1, h.countEvents(`a MetricMissing: The job reports loss but not "accuracy"`))
	})
}

func TestBadLines_CauseOneEventAMinute(t *testing.T) {
	withHarness(t, policy.FlowCon, func(t *testing.T, h *harness) {
		h.arrive("a")
		for range 30 {
			h.loop.Socket("slot-a", socket.Faults{Malformed: 9, Last: wire.ErrMalformed})
			h.advance(time.Second)
		}
		h.loop.Socket("slot-unknown", socket.Faults{Malformed: 9, Last: wire.ErrMalformed})
		h.advance(time.Second)
		require.Equal(t, 1, h.countEvents("a BadLines"))
	})
}
