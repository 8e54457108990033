package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/wire"
)

var digest = strings.Repeat("0f", 32)

// savedAs answers the open request as the shim does.
func (w *harness) savedAs(name, path string, step int64) {
	request := w.saves["slot-"+name].Request
	w.step(node.CheckpointSaved{Slot: "slot-" + name, Saved: wire.Saved{Path: path, SHA256: digest, Step: step, Request: request}})
}

func (w *harness) failed(name, reason string) {
	request := w.saves["slot-"+name].Request
	w.step(node.CheckpointFailed{Slot: "slot-" + name, Failed: wire.Failed{Request: request, Reason: reason}})
}

// delete deletes a pod, as the API server does.
func (w *harness) delete(name string, grace time.Duration) {
	pod, _ := w.pod(ref(name).UID)
	pod.Running, pod.Deadline = false, w.now.Add(grace)
	w.apply(pod)
}

func whileTraining(t *testing.T, test func(t *testing.T, w *harness)) {
	t.Helper()
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.train(0, 2, map[string]func(int) float64{"a": falling})
		test(t, w)
	})
}

func TestNode_SavesWhenTheUserAsks(t *testing.T) {
	whileTraining(t, func(t *testing.T, w *harness) {
		w.annotatePod("a", gpushare.SaveAnnotation, "2026-05-01T12:00:00Z")
		request := w.saves["slot-a"]
		require.Equal(t, "the user asks for it", request.Reason)
		require.Positive(t, request.Request)
		w.savedAs("a", "/ckpt/a.pt", 7)
		require.Equal(t, 1, w.eventCount("a Saved: The job saved a checkpoint of step 7 in /ckpt/a.pt, because its user asked for it"))
		require.Equal(t, "2026-05-01T12:00:00Z step=7 sha256="+digest+" path=/ckpt/a.pt", w.annotated["a"][gpushare.SavedAnnotation])
		require.Equal(t, int64(7), w.sample("a").Checkpoint.Step)

		t.Log("the same request is not made again, also not by a restarted coordinator")
		w.saves = map[string]wire.Save{}
		w.annotatePod("a", gpushare.SavedAnnotation, w.annotated["a"][gpushare.SavedAnnotation])
		w.pass(3 * interval)
		w.start(policy.Harmless)
		for _, pod := range w.pods {
			w.step(node.PodUpdated{Pod: pod})
		}
		w.listAllocations()
		w.report("a", 8, 9)
		w.pass(interval)
		require.Empty(t, w.saves)
		require.Equal(t, int64(7), w.sample("a").Checkpoint.Step, "the record outlasts the coordinator")

		t.Log("another one is")
		w.annotatePod("a", gpushare.SaveAnnotation, "again")
		require.NotEmpty(t, w.saves)
		require.Greater(t, w.saves["slot-a"].Request, request.Request)
	})
}

// A coordinator that has just started reads the request before the job has connected to it.
func TestNode_SavesOnceTheJobHasConnected(t *testing.T) {
	for name, connects := range map[string]bool{"the job connects": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			whileTraining(t, func(t *testing.T, w *harness) {
				w.start(policy.Harmless)
				w.annotatePod("a", gpushare.SaveAnnotation, "now")
				w.listAllocations()
				w.pass(interval)
				require.Empty(t, w.saves)
				require.Zero(t, w.eventCount("a SaveFailed"))
				if connects {
					w.report("a", 8, 9)
					require.NotEmpty(t, w.saves)
				}
				w.pass(2 * interval)
				require.Equal(t, connects, w.eventCount("a SaveFailed: ") == 0, w.events)
			})
		})
	}
}

// Another request meanwhile does not make it wait for longer.
func TestNode_RequestsWaitForTheShimTogether(t *testing.T) {
	whileTraining(t, func(t *testing.T, w *harness) {
		w.start(policy.Harmless)
		w.annotatePod("a", gpushare.SaveAnnotation, "first")
		w.listAllocations()
		for _, name := range []string{"second", "third", "fourth"} {
			w.pass(interval)
			w.annotatePod("a", gpushare.SaveAnnotation, name)
		}
		require.NotZero(t, w.eventCount("a SaveFailed: "), w.events)
	})
}

func TestNode_SaveFails(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		answer     func(w *harness)
		want       string
	}{
		"the job says why": {
			answer: func(w *harness) { w.failed("a", "the volume is full: free space on it") },
			want:   "although its user asked for it: the volume is full: free space on it. There is no earlier checkpoint",
		},
		"an earlier checkpoint stays": {
			answer: func(w *harness) {
				request := w.saves["slot-a"]
				w.step(node.CheckpointSaved{Slot: "slot-a", Saved: wire.Saved{Path: "/old", SHA256: digest, Step: 3, Request: request.Request - 1}})
				w.failed("a", "no")
			},
			want: "The last checkpoint, of step 3 in /old, is as it was",
		},
		"no answer": {
			answer: func(w *harness) { w.pass(11 * time.Minute) },
			want:   "it did not answer in time",
		},
		"its process ends": {
			answer: func(w *harness) { w.step(node.ProcessLeft{Slot: "slot-a"}) },
			want:   "its processes ended before they had saved",
		},
		"checkpoint none": {annotation: gpushare.CheckpointAnnotation + "=none", want: `gpushare/checkpoint is "none"`},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, policy.Harmless, func(t *testing.T, w *harness) {
				w.arrive("a", tc.annotation)
				w.train(0, 2, map[string]func(int) float64{"a": falling})
				w.annotatePod("a", gpushare.SaveAnnotation, "now")
				if tc.answer != nil {
					tc.answer(w)
				}
				require.Equal(t, 1, w.eventCount("a SaveFailed: "))
				require.Equal(t, 1, w.eventCount(tc.want), w.events)
				answer, err := gpushare.ParseSaved(w.annotated["a"][gpushare.SavedAnnotation])
				require.NoError(t, err, "the mover reads the reason")
				require.Equal(t, "now", answer.Request)
				require.NotEmpty(t, answer.Failed)
			})
		})
	}
}

func TestNode_RequestThatIsNoneIsExplained(t *testing.T) {
	whileTraining(t, func(t *testing.T, w *harness) {
		w.annotatePod("a", gpushare.SaveAnnotation, "right now")
		w.pass(3 * interval)
		require.Equal(t, 1, w.eventCount(`"right now" does not identify a request`))
		require.Empty(t, w.saves)
	})
}

func TestNode_SavesBeforeADeletedPodEnds(t *testing.T) {
	whileTraining(t, func(t *testing.T, w *harness) {
		w.delete("a", 30*time.Second)
		require.Equal(t, "the pod is being deleted", w.saves["slot-a"].Reason)
		require.InDelta(t, 28.5, float64(w.saves["slot-a"].DeadlineSeconds), 0.01)
		require.Len(t, w.node.Jobs(), 1)
		w.savedAs("a", "/ckpt/a.pt", 2)
		require.Equal(t, 1, w.eventCount("because its pod is being deleted"))
		require.Equal(t, 1, w.eventCount("a JobEnded"))
		require.Empty(t, w.node.Jobs())
	})
}

// A job that waits after the step that it has saved need not save again when its pod is deleted.
func TestNode_DeletedPodThatHasSavedLeavesAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		saved int64
		jobs  int
	}{"this step": {4, 0}, "an earlier one": {3, 1}} {
		t.Run(name, func(t *testing.T) {
			whileTraining(t, func(t *testing.T, w *harness) {
				w.annotatePod("a", gpushare.PausedAnnotation, "true")
				w.stops("a", 4)
				w.annotatePod("a", gpushare.SaveAnnotation, "now")
				w.savedAs("a", "/ckpt/a.pt", tc.saved)
				w.delete("a", 30*time.Second)
				require.Len(t, w.node.Jobs(), tc.jobs)
			})
		})
	}
}

func TestNode_DeletedPodLeavesWithoutACheckpoint(t *testing.T) {
	for name, tc := range map[string]struct {
		grace  time.Duration
		answer func(w *harness)
		events int
		want   string
	}{
		"no time":                 {time.Second, nil, 1, "SaveFailed: The pod is being deleted, and its grace period of 1s leaves no time"},
		"it was deleted long ago": {-time.Second, nil, 1, "SaveFailed: The pod is being deleted, and its grace period was over before the job could save: There"},
		"no space":                {30 * time.Second, func(w *harness) { w.failed("a", "the volume is full") }, 1, "SaveFailed: The job has not saved, although its pod is being deleted: the volume is full"},
		"a job without a save function": {30 * time.Second, func(w *harness) {
			w.step(node.CheckpointFailed{Slot: "slot-a", Failed: wire.Failed{Request: w.saves["slot-a"].Request, Nothing: true}})
		}, 0, ""},
		"no answer": {30 * time.Second, func(w *harness) { w.pass(time.Minute) }, 0, ""},
		"a handler of SIGTERM has saved": {30 * time.Second, func(w *harness) {
			w.step(node.CheckpointSaved{Slot: "slot-a", Saved: wire.Saved{Path: "/own", SHA256: digest, Step: 2}})
		}, 0, "Saved: The job saved a checkpoint of step 2 in /own"},
	} {
		t.Run(name, func(t *testing.T) {
			whileTraining(t, func(t *testing.T, w *harness) {
				w.delete("a", tc.grace)
				if tc.answer != nil {
					tc.answer(w)
				}
				require.Empty(t, w.node.Jobs())
				require.Equal(t, 1, w.eventCount("a JobEnded"))
				require.Equal(t, tc.events, w.eventCount("SaveFailed"))
				if tc.want != "" {
					require.Equal(t, 1, w.eventCount(tc.want), w.events)
				}
			})
		})
	}
}

// A job may save by its own handler of SIGTERM, and even end, before the node knows that its pod is being deleted.
func TestNode_SavedBeforeTheNodeKnewOfTheDeletion(t *testing.T) {
	for name, tc := range map[string]struct {
		earlier time.Duration // when it has saved
		ended   bool          // its process has ended since
		grace   time.Duration // what is left of it
		saved   int
	}{
		"its process has ended":         {time.Second, true, 20 * time.Second, 1},
		"no time is left":               {time.Second, false, time.Second, 1},
		"the grace period is over":      {time.Second, false, -time.Second, 1},
		"it was a regular one long ago": {time.Minute, true, 20 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			whileTraining(t, func(t *testing.T, w *harness) {
				w.step(node.CheckpointSaved{Slot: "slot-a", Saved: wire.Saved{Path: "/own", SHA256: digest, Step: 2}})
				w.pass(tc.earlier)
				if tc.ended {
					w.step(node.ProcessLeft{Slot: "slot-a"})
				}
				w.delete("a", tc.grace)
				require.Equal(t, tc.saved, w.eventCount("a Saved: The job saved a checkpoint of step 2 in /own, because its pod is being deleted. Its SHA-256"), w.events)
				require.Zero(t, w.eventCount("SaveFailed"), w.events)
				require.Equal(t, 1, w.eventCount("a JobEnded"))
			})
		})
	}
}

// A checkpoint that was announced when its user asked for it is not announced again.
func TestNode_AnnouncesACheckpointOnce(t *testing.T) {
	whileTraining(t, func(t *testing.T, w *harness) {
		w.annotatePod("a", gpushare.SaveAnnotation, "now")
		w.savedAs("a", "/ckpt/a.pt", 2)
		w.step(node.ProcessLeft{Slot: "slot-a"})
		w.delete("a", 20*time.Second)
		require.Equal(t, 1, w.eventCount("a Saved: "), w.events)
	})
}

// A job that saves a large file now and then reports it once its SHA-256 is known. That may be after a request.
func TestNode_ACheckpointFromBeforeTheRequestIsNoAnswer(t *testing.T) {
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.arrive("a")
		w.report("a", 50, 9)
		w.annotatePod("a", gpushare.SaveAnnotation, "x")
		w.step(node.CheckpointSaved{Slot: "slot-a", Saved: wire.Saved{Path: "/old", SHA256: digest, Step: 10}})
		require.Empty(t, w.annotated["a"][gpushare.SavedAnnotation])
		require.Equal(t, int64(10), w.sample("a").Checkpoint.Step, "it is the last one that is known")
		w.savedAs("a", "/ckpt/a.pt", 50)
		require.Equal(t, "x step=50 sha256="+digest+" path=/ckpt/a.pt", w.annotated["a"][gpushare.SavedAnnotation])
	})
}

// A shim that knows stops names the request that it answers, so what it saves without one is no answer.
func TestNode_ACheckpointThatWasNotRequestedIsNoAnswerOfAShimThatNumbersThem(t *testing.T) {
	whileTraining(t, func(t *testing.T, w *harness) {
		w.annotatePod("a", gpushare.PausedAnnotation, "true")
		w.stops("a", 3)
		w.annotatePod("a", gpushare.SaveAnnotation, "x")
		w.step(node.CheckpointSaved{Slot: "slot-a", Saved: wire.Saved{Path: "/epoch.pt", SHA256: digest, Step: 3}})
		require.Empty(t, w.annotated["a"][gpushare.SavedAnnotation])
		w.savedAs("a", "/ckpt/a.pt", 3)
		require.Contains(t, w.annotated["a"][gpushare.SavedAnnotation], "path=/ckpt/a.pt")

		t.Log("one that ends by SIGTERM saves without a number, too")
		w.stops("a", 4)
		w.delete("a", 30*time.Second)
		require.Len(t, w.node.Jobs(), 1)
		w.step(node.CheckpointSaved{Slot: "slot-a", Saved: wire.Saved{Path: "/ckpt/a.pt", SHA256: digest, Step: 4}})
		require.Empty(t, w.node.Jobs())
	})
}
