package mover_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/move"
)

func TestMover_MovesAGang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		for _, name := range []string{"g-0", "g-1"} {
			w.edit(name, func(p *corev1.Pod) { p.Annotations[gpushare.DeadlineAnnotation] = "6h" })
		}
		w.ask("g-0", "c")
		w.pass(1)
		moves := w.moves()
		require.Len(t, moves, 2, w.events())
		require.Equal(t, moves[0].ID, moves[1].ID)
		require.Equal(t, []growth.NodeName{"c", "b"}, []growth.NodeName{moves[0].To, moves[1].To}, "one leaves, the other starts again")
		require.Contains(t, w.events(), "g-1: MoveBegan: The job moves with all of its 2 pods: pod g-0 moves from node a to c, "+
			"pod g-1 starts again on node b. All of them save first, or none moves")

		w.pass(3)
		require.Equal(t, both(move.Saving), w.states())
		for name, on := range map[string]growth.NodeName{"g-0": "c", "g-1": "b"} {
			require.True(t, w.annotated(name, gpushare.SaveAnnotation) && w.annotated(name, gpushare.PausedAnnotation))
			require.True(t, w.Reservations(on)[growth.PodUID(name+"-uid")].Held)
		}
		w.answer("g-0", 40, "")
		w.pass(2)
		require.Equal(t, both(move.Saving), w.states(), "one has not saved")
		w.answer("g-1", 40, "")
		w.pass(3)
		require.Equal(t, both(move.Saved), w.states())
		require.Empty(t, w.evicted, "their Job has not released them")
		for _, name := range []string{"g-0", "g-1"} {
			w.edit(name, func(p *corev1.Pod) {
				require.NotContains(t, p.Labels, batchv1.ControllerUidLabel)
				p.OwnerReferences = nil
			})
		}
		created := w.Get(clustertest.Pod("g-0", "")).CreationTimestamp.Time
		w.pass(2)
		require.Equal(t, []string{"g-0", "g-1"}, w.evicted)
		require.Equal(t, both(move.Evicted), w.states())
		w.continues(t, created)
	})
}

// continues creates the new pods, and follows them to the end. The old ones were created at some time.
func (w *gangHarness) continues(t *testing.T, created time.Time) {
	nodes := map[int]growth.NodeName{0: "c", 1: "b"}
	pods := map[int]*corev1.Pod{}
	for i := range nodes {
		pod := clustertest.Pod("new-"+strconv.Itoa(i), "4Gi", 4)
		w.own(pod)
		pod.Annotations[gpushare.DeadlineAnnotation] = "6h" // of the Job's template
		pods[i] = w.Create(pod)
	}
	w.Settle()
	require.True(t, w.mover.Place(request.Identity(pods[1])).Wait, "the memory of the old pod is not free yet")
	for i, on := range map[int]growth.NodeName{0: "a", 1: "b"} {
		require.NoError(t, w.Bus.Delete(t.Context(), bus.AllocationKey(on, growth.PodUID("g-"+strconv.Itoa(i)+"-uid"))))
	}
	w.Settle()
	w.pass(1)
	for i, on := range nodes {
		require.True(t, w.annotated("new-"+strconv.Itoa(i), gpushare.MovingAnnotation), "kube-scheduler tries it again")
		require.True(t, w.mover.Place(request.Identity(pods[i])).Unready, "as created, it does not have the checkpoint")
		pods[i] = w.Get(pods[i])
		result, err := w.scheduler.Filter(pods[i], []string{"a", "b", "c"})
		require.NoError(t, err)
		require.Equal(t, []string{string(on)}, result.Fit())
		require.NoError(t, w.scheduler.Bind(t.Context(), clustertest.Ref(pods[i]), on))
	}
	w.pass(1)
	require.Equal(t, both(move.Placed), w.states())
	report := func(i int, step int64) {
		ref := clustertest.Ref(pods[i])
		clustertest.Record(w.Cluster, bus.SampleKey(ref.UID), bus.Sample{Pod: ref, Node: nodes[i], Step: step})
	}
	report(1, 3) // it starts over
	w.pass(2)
	require.Equal(t, both(move.Placed), w.states())
	report(0, 40)
	report(1, 40)
	w.pass(2)
	require.Equal(t, both(move.Done), w.states(), w.events())
	require.Equal(t, 1, strings.Count(w.events(), "It did not continue from its checkpoint"))
	require.Regexp(t, `new-1: Moved: .*\. It did not continue from its checkpoint: step 40 was saved in /checkpoints/g.pt with SHA-256 (0f){32}, `+
		`and its first report was step 3`, w.events())
	require.Equal(t, corev1.EventTypeNormal, w.eventType("new-0", "Moved"))
	require.Equal(t, corev1.EventTypeWarning, w.eventType("new-1", "Moved"), "it has lost steps")
	require.Contains(t, w.events(), "g-1: MoveEvicted: Pod g-1 is gone. The pod that continues its job may run on node b")
	require.Contains(t, w.events(), "new-0: Moved: The job has moved from node a to c in ")
	require.Contains(t, w.events(), "new-1: Moved: The job has moved, and this pod of it has started again on node b, in ")
	for i, on := range nodes {
		require.Len(t, w.Reservations(on), 1, "only that of the new pod")
		require.Contains(t, w.Reservations(on), clustertest.Ref(pods[i]).UID)
		require.Contains(t, w.Get(pods[i]).Annotations[gpushare.MovesAnnotation], "requested; with all 2 pods of its job")
	}
	require.Zero(t, w.Cache.Snapshot().OverCommitted())
	for i := range nodes {
		saved, err := gpushare.ParseSaved(w.Get(pods[i]).Annotations[gpushare.SavedAnnotation])
		require.NoError(t, err)
		require.True(t, saved.IsBeforeMove())
		require.Equal(t, "/checkpoints/g.pt", saved.Path)
		require.EqualValues(t, 40, saved.Step)
		kept := w.Get(pods[i]).Annotations[gpushare.DeadlineAnnotation]
		require.Equal(t, created.Add(6*time.Hour).UTC().Format(time.RFC3339), kept, "it does not begin again")
	}
}

// A failure before all pods may be evicted lets all of them run on.
func TestMover_AbortsTheMoveOfAGang(t *testing.T) {
	tests := map[string]struct {
		fail func(*gangHarness)
		why  string
	}{
		"one cannot save": {
			fail: func(w *gangHarness) { w.answer("g-0", 40, ""); w.answer("g-1", 0, "the volume is full") },
			why:  "the job did not save: the volume is full",
		},
		"they are two jobs": {
			fail: func(w *gangHarness) { w.answer("g-0", 40, ""); w.answer("g-1", 41, "") },
			why:  "its pods have saved different steps, 40 and 41",
		},
		"one does not answer": {
			fail: func(w *gangHarness) { w.answer("g-0", 40, ""); time.Sleep(3 * time.Minute) },
			why:  "the job did not save within 2m0s",
		},
		"a disruption budget": {
			fail: func(w *gangHarness) {
				w.mover.Protected = func(...*corev1.Pod) string { return "default/g" }
				w.answer("g-0", 40, "")
				w.answer("g-1", 40, "")
				w.pass(1)
				require.Equal(w.T, both(move.Saving), w.states())
				time.Sleep(3 * time.Minute)
			},
			why: "the pods cannot be evicted: the disruption budget default/g does not permit it now",
		},
		"one is deleted": {
			fail: func(w *gangHarness) { w.Delete(clustertest.Pod("g-0", "")) },
			why:  "the job ended while it saved",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				w.ask("g-0", "c")
				w.pass(3)
				require.Equal(t, both(move.Saving), w.states())
				test.fail(w)
				w.pass(3)
				require.Equal(t, both(move.Aborted), w.states())
				require.Empty(t, w.evicted)
				require.Empty(t, w.Reservations("c"))
				require.Empty(t, w.Reservations("b"))
				for _, annotation := range []string{gpushare.SaveAnnotation, gpushare.PausedAnnotation, gpushare.MoveAnnotation} {
					require.False(t, w.annotated("g-1", annotation), annotation)
				}
				require.Contains(t, w.events(), "g-1: MoveAborted: The move of the job has ended early, and all of its 2 pods run on: "+test.why)
			})
		})
	}
}

// After the commit a budget delays the eviction of a pod, and does not spare it.
func TestMover_EvictsAllPodsOfAGang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.ask("g-0", "c")
		w.pass(3)
		w.answer("g-0", 40, "")
		w.answer("g-1", 40, "")
		w.pass(2)
		require.Equal(t, both(move.Saved), w.states())
		w.mover.Protected = func(...*corev1.Pod) string { return "default/g" }
		w.Delete(clustertest.Pod("g-0", "")) // by somebody else
		for range 10 {
			time.Sleep(time.Minute)
			w.pass(1)
		}
		require.Equal(t, both(move.Saved), w.states(), "the other one still runs")
		require.True(t, w.Reservations("c")["g-0-uid"].Held, "its memory stays reserved")
		require.True(t, w.mover.Place(move.Identity{UID: "new", Namespace: "default", Owner: "job", Index: "0"}).Wait)
		w.edit("g-1", func(p *corev1.Pod) { p.OwnerReferences = nil })
		w.pass(2)
		require.Equal(t, []string{"g-1"}, w.evicted)
		require.Equal(t, both(move.Evicted), w.states())
	})
}

func TestMover_RefusesTheMoveOfAGang(t *testing.T) {
	tests := map[string]struct {
		change func(*gangHarness)
		to     string
		why    string
	}{
		"a budget": {
			change: func(w *gangHarness) {
				w.mover.Protected = func(pods ...*corev1.Pod) string {
					require.Len(w.T, pods, 2)
					return "default/g"
				}
			},
			why: "because the disruption budget default/g does not permit the eviction of all 2 pods",
		},
		"one cannot save": {
			change: func(w *gangHarness) {
				w.edit("g-1", func(p *corev1.Pod) { p.Annotations[gpushare.CheckpointAnnotation] = string(gpushare.CheckpointNone) })
			},
			why: "is none: it cannot save",
		},
		"one has no node": {
			change: func(w *gangHarness) {
				pod := clustertest.Pod("g-2", "4Gi", 4)
				own(pod)
				w.Create(pod)
			},
			why: "because its pod g-2 has no node yet",
		},
		"a full target": {
			change: func(w *gangHarness) { w.job("big", "c", 14) },
			to:     "c",
			why:    "because all of its pods move or none does, and of pod g-0: GPU memory: 4GiB asked, largest free share 2GiB on gpu-0",
		},
		"a cordoned target": {
			change: func(w *gangHarness) { w.cordon("c") },
			to:     "c",
			why:    "of pod g-0: node c has no room for it, or does not permit it",
		},
		"a target that does not exist": {change: func(*gangHarness) {}, to: "d", why: "of pod g-0: nothing is known about the node yet"},
		"it is there":                  {change: func(*gangHarness) {}, to: "a", why: "The job is where its user wants it already"},
		"further pods of the owner": {
			change: func(w *gangHarness) {
				pod := clustertest.Pod("g-3", "4Gi", 4)
				own(pod)
				pod.Spec.Containers[0].Env = nil
				w.Create(pod)
			},
			why: "because its Job g has other pods, such as g-3, and nothing says that they are one job",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGangHarness(t)
				test.change(w)
				if test.to == "" {
					test.to = gpushare.MoveAnywhere
				}
				w.ask("g-0", test.to)
				w.pass(1)
				require.Empty(t, w.moves())
				require.Contains(t, w.events(), test.why)
				require.Contains(t, w.events(), "g-0: MoveRefused")
				require.False(t, w.annotated("g-0", gpushare.MoveAnnotation))
			})
		})
	}
}

// A pod whose node is cordoned does not start again there: it leaves too.
func TestMover_EmptiesACordonedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGangHarness(t)
		w.cordon("b")
		w.ask("g-0", gpushare.MoveAnywhere)
		w.pass(1)
		moves := w.moves()
		require.Len(t, moves, 2, w.events())
		for _, r := range moves {
			require.NotEqual(t, r.From, r.To)
			require.NotEqual(t, growth.NodeName("b"), r.To)
		}
	})
}
