package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

// logging starts a job without the shim, in the container c-<name> with a volume at /ckpt.
func (w *harness) logging(name string, annotations ...string) {
	w.arrive(name, append([]string{gpushare.ProgressAnnotation + "=log:loss=([0-9.]+)"}, annotations...)...)
	w.change(name, func(pod *node.Pod) {
		pod.Containers = []node.Container{{Name: "train", Request: pod.Request(), ID: "c-" + name}}
		pod.Volumes = []string{"/", "/ckpt", "/ckpt/other"}
	})
	w.logs(name, 7)
}

// bySignal starts such a job that saves on SIGUSR1.
func (w *harness) bySignal(name string) {
	w.logging(name, gpushare.CheckpointAnnotation+"=signal:SIGUSR1", gpushare.CheckpointPathAnnotation+"=/ckpt/job.pt")
}

func (w *harness) change(name string, change func(*node.Pod)) {
	pod, _ := w.pod(ref(name).UID)
	change(&pod)
	w.apply(pod)
}

// logs reads a step and a loss in the log of a job.
func (w *harness) logs(name string, step int64) {
	w.step(node.ProgressReported{Pod: ref(name).UID, Source: gpushare.FromLog, Progress: wire.Progress{
		Step: step, Metrics: wire.Metrics{{Name: "loss", Value: falling(int(step))}},
	}})
}

// answers answers the last signal.
func (w *harness) answers(name, failed string) {
	require.NotEmpty(w.t, w.signals)
	answer := node.SignalAnswered{Pod: ref(name).UID, Request: w.signals[len(w.signals)-1].Request, SHA256: digest}
	if failed != "" {
		answer.SHA256, answer.Err = "", failed
	}
	w.step(answer)
}

func TestNode_SavesBySignalWhenTheUserAsks(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.bySignal("a")
		w.annotatePod("a", gpushare.SaveAnnotation, "now")
		require.Len(t, w.signals, 1)
		request := w.signals[0]
		require.Positive(t, request.Request)
		request.Request = 0
		require.Equal(t, node.SignalSave{
			Pod:       ref("a"),
			Container: "c-a",
			Signal:    gpushare.SaveSignal{Name: "SIGUSR1", Path: "/ckpt/job.pt"},
			Volume:    "/ckpt",
			Deadline:  w.now.Add(10*time.Minute - 500*time.Millisecond),
		}, request)
		w.logs("a", 9)
		w.pass(3 * interval)
		require.Len(t, w.signals, 1, "one signal for a request")
		w.step(node.SignalAnswered{Pod: ref("a").UID, Request: 1, Err: "an answer to another request"})
		require.Empty(t, w.annotated["a"][gpushare.SavedAnnotation])
		w.answers("a", "")
		require.Equal(t, 1, w.eventCount("a Saved: The job saved a checkpoint of step 7 in /ckpt/job.pt, because its user asked for it"))
		require.Equal(t, "now step=7 sha256="+digest+" path=/ckpt/job.pt", w.annotated["a"][gpushare.SavedAnnotation])
		require.Equal(t, &bus.Checkpoint{Path: "/ckpt/job.pt", SHA256: digest, Step: 7, At: w.now}, w.sample("a").Checkpoint)
		require.Empty(t, w.saves, "nothing goes through the socket")
	})
}

func TestNode_SavesAnUnknownStepOfAJobThatWritesNone(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.bySignal("a")
		w.step(node.ProgressReported{Pod: ref("a").UID, Source: gpushare.FromLog, Counted: true, Progress: wire.Progress{
			Step: 8, Metrics: wire.Metrics{{Name: "loss", Value: 3}},
		}})
		w.annotatePod("a", gpushare.SaveAnnotation, "now")
		w.answers("a", "")
		require.Equal(t, 1, w.eventCount("a Saved: The job saved a checkpoint of step 0 in /ckpt/job.pt"))
	})
}

func TestNode_SaveBySignalFails(t *testing.T) {
	for name, tc := range map[string]struct {
		before  func(w *harness)
		answer  func(w *harness)
		signals int
		want    string
	}{
		"the caller says why": {
			answer:  func(w *harness) { w.answers("a", "SIGUSR1 has not led to a complete /ckpt/job.pt") },
			signals: 1, want: "although its user asked for it: SIGUSR1 has not led to a complete /ckpt/job.pt. There is no earlier checkpoint",
		},
		"the caller says nothing": {answer: func(w *harness) { w.pass(11 * time.Minute) }, signals: 1, want: "it did not answer in time"},
		"a path on no volume": {
			before: func(w *harness) {
				w.change("a", func(pod *node.Pod) { pod.Volumes = []string{"/data", "/ckpt/job.pt"} })
			},
			want: "/ckpt/job.pt is on no volume, and would be lost with the container",
		},
		"its container does not run": {
			before: func(w *harness) { w.change("a", func(pod *node.Pod) { pod.Containers[0].ID = "" }) },
			want:   "its container does not run",
		},
		"several pods": {
			before: func(w *harness) {
				for _, name := range []string{"a", "b"} {
					w.bySignal(name)
					w.change(name, func(pod *node.Pod) { pod.Owner, pod.Command, pod.Distributed = "job", "train", true })
				}
				w.pass(interval)
			},
			want: "it has several ranks, and a signal does not let them save after the same step",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				w.bySignal("a")
				if tc.before != nil {
					tc.before(w)
				}
				w.annotatePod("a", gpushare.SaveAnnotation, "now")
				if tc.answer != nil {
					tc.answer(w)
				}
				require.Len(t, w.signals, tc.signals)
				require.Equal(t, 1, w.eventCount("a SaveFailed: "), w.events)
				require.Equal(t, 1, w.eventCount(tc.want), w.events)
				answer, err := gpushare.ParseSaved(w.annotated["a"][gpushare.SavedAnnotation])
				require.NoError(t, err)
				require.Equal(t, "now", answer.Request)
				require.NotEmpty(t, answer.Failed)
			})
		})
	}
}

func TestNode_SavesBySignalBeforeADeletedPodEnds(t *testing.T) {
	for name, tc := range map[string]struct{ failed, event string }{
		"it saves":         {"", "a Saved: The job saved a checkpoint of step 7 in /ckpt/job.pt, because its pod is being deleted"},
		"it does not":      {"its process sh ended after SIGUSR1", "a SaveFailed: The job has not saved, although its pod is being deleted: its process sh ended"},
		"the disk is full": {"the volume is full", "a SaveFailed: The job has not saved, although its pod is being deleted: the volume is full"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				w.bySignal("a")
				w.delete("a", 30*time.Second)
				require.Len(t, w.signals, 1)
				require.Equal(t, w.now.Add(28*time.Second), w.signals[0].Deadline)
				require.Len(t, w.node.Jobs(), 1)
				w.answers("a", tc.failed)
				require.Equal(t, 1, w.eventCount(tc.event), w.events)
				require.Equal(t, 1, w.eventCount("a JobEnded"))
				require.Empty(t, w.node.Jobs())
			})
		})
	}
}

// As a job with a handler of SIGTERM of its own does.
func TestNode_DeletedJobThatEndsBeforeTheSignalGetsNoWarning(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.bySignal("a")
		w.delete("a", 30*time.Second)
		w.step(node.SignalAnswered{Pod: ref("a").UID, Request: w.signals[0].Request, Ended: true, Err: "its processes ended before they had saved"})
		require.Zero(t, w.eventCount("SaveFailed"))
		require.Empty(t, w.node.Jobs())
	})
}

func TestNode_GracePeriodThatIsTooShortForASignal(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.bySignal("a")
		w.delete("a", time.Second)
		require.Empty(t, w.signals)
		require.Equal(t, 1, w.eventCount("a SaveFailed: The pod is being deleted, and its grace period of 1s leaves no time to save"))
		require.Empty(t, w.node.Jobs())
	})
}

// A move asks the job to save and to pause at once. The job runs until it has saved.
func TestNode_SavesBySignalBeforeItPauses(t *testing.T) {
	both := func(pod *node.Pod) {
		pod.Annotations[gpushare.SaveAnnotation] = "move-1"
		pod.Annotations[gpushare.PausedAnnotation] = "true"
	}
	for name, freeze := range map[string]bool{"with the freezer": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				w.config.Freeze = freeze
				w.start(policy.Harmless)
				w.bySignal("a")
				w.change("a", both)
				require.Len(t, w.signals, 1)
				w.pass(interval)
				require.Zero(t, w.eventCount("a Paused"))
				w.answers("a", "")
				require.Equal(t, freeze, w.frozen["c-a"])
				require.Equal(t, 1, w.eventCount("a Paused"))

				w.delete("a", 30*time.Second)
				require.False(t, w.frozen["c-a"], "it receives SIGTERM")
				if freeze {
					require.Len(t, w.signals, 1, "it has done nothing since")
					require.Empty(t, w.node.Jobs())
					return
				}
				require.Len(t, w.signals, 2)
				w.answers("a", "")
				require.Empty(t, w.node.Jobs())
				require.Equal(t, 1, w.eventCount("a Paused"), "nothing pauses at its end")
			})
		})
	}
}

func TestNode_FrozenJobRunsWhileItSaves(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.config.Freeze = true
		w.start(policy.Harmless)
		w.bySignal("a")
		w.annotatePod("a", gpushare.PausedAnnotation, "true")
		require.True(t, w.frozen["c-a"])
		w.annotatePod("a", gpushare.SaveAnnotation, "now")
		require.False(t, w.frozen["c-a"])
		require.Len(t, w.signals, 1)
		w.answers("a", "")
		require.True(t, w.frozen["c-a"])
		require.Equal(t, 1, w.eventCount("a Saved"))
	})
}
