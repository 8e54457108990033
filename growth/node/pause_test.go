package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// annotatePod changes an annotation of a running pod; an empty value removes it.
func (w *harness) annotatePod(name, annotation, value string) {
	pod, _ := w.pod(ref(name).UID)
	pod.Annotations[annotation] = value
	if value == "" {
		delete(pod.Annotations, annotation)
	}
	w.apply(pod)
}

// stops answers a stop as the shim does.
func (w *harness) stops(name string, step int64) {
	w.step(node.ProcessStopped{Slot: "slot-" + name, Stopped: wire.Stopped{
		Sequence: w.stopped["slot-"+name].Sequence,
		Step:     step,
		Stopped:  true,
	}})
}

func TestNode_PauseReleasesTheCPUUntilTheAnnotationIsRemoved(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.arrive("b")
		w.train(0, 3, map[string]func(int) float64{"a": falling, "b": falling})

		w.annotatePod("a", gpushare.PausedAnnotation, "true")
		require.True(t, w.stopped["slot-a"].Stop)
		w.pass(time.Second)
		require.NotEqual(t, growth.MilliCPU(2), w.requests()["a"], "it still makes its last step")
		w.stops("a", 4)
		w.pass(interval)
		require.Equal(t, 1, w.eventCount("a Paused: The job waits after step 4"))
		require.Equal(t, map[string]growth.MilliCPU{"a": 2, "b": 998}, w.requests())
		require.Equal(t, bus.PauseComplete, w.sample("a").Paused)
		before := w.nodeState().Fair.Accounts[ref("a").UID]
		require.True(t, before.Paused)

		w.train(3, 60, map[string]func(int) float64{"b": falling})
		require.Equal(t, 1, w.eventCount("a Paused"), "once")
		after := w.nodeState().Fair.Accounts[ref("a").UID]
		require.InDelta(t, float64(before.FairWork), float64(after.FairWork), 1e-9, "fair sharing does not serve it either")

		w.annotatePod("a", gpushare.PausedAnnotation, "")
		require.False(t, w.stopped["slot-a"].Stop)
		require.Equal(t, 1, w.eventCount("a Resumed"))
		w.train(63, 2, map[string]func(int) float64{"a": falling, "b": falling})
		require.Greater(t, w.requests()["a"], growth.MilliCPU(5), "it has a share again")
		require.Empty(t, w.sample("a").Paused)
	})
}

func TestNode_PauseSurvivesARestartOfTheCoordinator(t *testing.T) {
	for name, removed := range map[string]bool{"the annotation stays": false, "the annotation was removed meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				w.arrive("a")
				w.arrive("b")
				w.train(0, 2, map[string]func(int) float64{"a": falling, "b": falling})
				w.annotatePod("a", gpushare.PausedAnnotation, "true")
				w.stops("a", 3)
				w.pass(2 * interval)

				w.start(policy.Harmless)
				if removed {
					pod := w.pods[ref("a").UID]
					delete(pod.Annotations, gpushare.PausedAnnotation)
					w.pods[ref("a").UID] = pod
				}
				for _, pod := range w.pods {
					w.step(node.PodUpdated{Pod: pod})
				}
				w.listAllocations()
				w.stopped = map[string]wire.Stop{}
				w.step(node.ProcessStopped{Slot: "slot-a", Stopped: wire.Stopped{Step: 3, Stopped: true}}) // the shim connects again
				order, sent := w.stopped["slot-a"]
				require.True(t, sent)
				require.Equal(t, !removed, order.Stop)
				w.pass(interval)
				require.Equal(t, 1, w.eventCount("a Paused"))
				if removed {
					require.Equal(t, 1, w.eventCount("a Resumed"))
					require.Greater(t, w.requests()["a"], growth.MilliCPU(300))
					return
				}
				w.stops("a", 3)
				w.pass(10 * interval)
				require.Equal(t, growth.MilliCPU(2), w.requests()["a"])
				require.Zero(t, w.eventCount("a Resumed"))
			})
		})
	}
}

func TestNode_PauseOfAJobThatCannotStop(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		answer     func(w *harness)
		why        string
	}{
		"without the shim": {annotation: gpushare.ProgressAnnotation + "=log:loss=([0-9.]+)", why: "is not connected through the shim"},
		"a shim of an earlier release": {
			answer: func(w *harness) { w.report("a", 1, 9) },
			why:    "its shim is of an earlier release",
		},
		"ranks on another node": {
			answer: func(w *harness) {
				rank := 0
				w.send("a", wire.Progress{Step: 1, Process: wire.Process{Rank: &rank, WorldSize: 2}})
			},
			why: "some of its ranks run elsewhere",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				w.arrive("a", tc.annotation)
				w.arrive("b")
				if tc.answer != nil {
					tc.answer(w)
				}
				w.pass(interval)
				w.annotatePod("a", gpushare.PausedAnnotation, "true")
				w.pass(4 * interval)
				require.Equal(t, 1, w.eventCount("the job cannot be stopped: "))
				require.Equal(t, 1, w.eventCount(tc.why))
				require.Equal(t, growth.MilliCPU(2), w.requests()["a"])
				require.Equal(t, bus.PauseCPU, w.sample("a").Paused)
				w.annotatePod("a", gpushare.PausedAnnotation, "false")
				w.pass(2 * interval)
				require.Greater(t, w.requests()["a"], growth.MilliCPU(300))
			})
		})
	}
}

// Nothing is left to take from a job that can neither stop nor give up CPU.
func TestNode_PauseWithoutEffectIsExplained(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a", gpushare.ProgressAnnotation+"=log:loss=([0-9.]+)")
		w.annotatePod("a", gpushare.TuneAnnotation, "loaders")
		w.annotatePod("a", gpushare.PausedAnnotation, "true")
		w.pass(4 * interval)
		require.Equal(t, 1, w.eventCount("Its CPU request stays as well: its user does not list cpu in gpushare/tune. So the pause has no effect"))
		require.Equal(t, growth.MilliCPU(500), w.requests()["a"])
	})
}

// A coordinator with a long interval repeats its order often enough for the shim.
func TestNode_PauseIsRepeatedBetweenTwoTicks(t *testing.T) {
	w := newHarness(t)
	w.start(policy.Harmless)
	w.arrive("a")
	w.report("a", 1, 9)
	w.annotatePod("a", gpushare.PausedAnnotation, "true")
	w.stops("a", 2)
	w.nextTick = w.now.Add(time.Hour)
	for range 10 {
		w.stopped = map[string]wire.Stop{}
		w.pass(wire.StopBound / 2)
		require.True(t, w.stopped["slot-a"].Stop)
	}
}

func TestNode_PauseByAnotherWordIsExplained(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.annotatePod("a", gpushare.PausedAnnotation, "yes")
		w.pass(3 * interval)
		require.Equal(t, 1, w.eventCount(`BadAnnotation: annotation gpushare/paused: "yes" is neither "true" nor "false"`))
		require.Zero(t, w.eventCount("Paused:"))
	})
}
