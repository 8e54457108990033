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
)

func frozenNode(t *testing.T, test func(t *testing.T, w *harness)) {
	t.Helper()
	in(t, policy.Harmless, func(t *testing.T, w *harness) {
		w.config.Freeze = true
		w.start(policy.Harmless)
		w.logging("a")
		w.arrive("b")
		w.train(0, 2, map[string]func(int) float64{"b": falling})
		test(t, w)
	})
}

func TestNode_FreezesAPausedJobWithoutTheShim(t *testing.T) {
	frozenNode(t, func(t *testing.T, w *harness) {
		w.annotatePod("a", gpushare.PausedAnnotation, "true")
		require.True(t, w.frozen["c-a"])
		w.pass(2 * interval)
		require.Equal(t, 1, w.eventCount(`a Paused: The processes of the job are frozen, because gpushare/paused is "true"`), w.events)
		require.Zero(t, w.eventCount("PausedPartly"))
		require.Equal(t, growth.MilliCPU(2), w.requests()["a"])
		require.Equal(t, bus.PauseComplete, w.sample("a").Paused)

		w.annotatePod("a", gpushare.PausedAnnotation, "")
		require.False(t, w.frozen["c-a"])
		require.Equal(t, 1, w.eventCount("a Resumed"))
		require.Empty(t, w.sample("a").Paused)
	})
}

func TestNode_JobThatIsNotFrozenSaysWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(w *harness)
		why    string
	}{
		"without --freeze": {
			before: func(w *harness) {
				w.config.Freeze = false
				w.start(policy.Harmless)
				w.logging("a")
			},
			why: "this node's coordinator runs without --freeze",
		},
		"a liveness probe": {
			before: func(w *harness) { w.change("a", func(pod *node.Pod) { pod.Probed = true }) },
			why:    "it has a liveness probe, and kubelet would restart a container that does not answer",
		},
		"two containers": {
			before: func(w *harness) {
				w.change("a", func(pod *node.Pod) {
					pod.Containers = append(pod.Containers, node.Container{Name: "sidecar", Request: 100})
				})
				w.kubelet = func(before, asked node.Pod) node.Pod {
					asked.Containers = append(asked.Containers, before.Containers[1:]...)
					return asked
				}
			},
			why: "its pod has several containers, which may wait for each other",
		},
		"ranks elsewhere": {
			before: func(w *harness) { w.change("a", func(pod *node.Pod) { pod.Distributed = true }) },
			why:    "it has several ranks, which wait for each other",
		},
		"clients of MPS": {
			before: func(w *harness) { w.step(node.InventoryChanged{Computes: true, MPS: true}) },
			why:    "a frozen client of MPS may hold up the server of all",
		},
		"the kernel refuses": {
			before: func(w *harness) { w.unfreezable = "its processes have not stopped within 2s" },
			why:    "its processes have not stopped within 2s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			frozenNode(t, func(t *testing.T, w *harness) {
				tc.before(w)
				w.annotatePod("a", gpushare.PausedAnnotation, "true")
				w.pass(interval)
				require.False(t, w.frozen["c-a"])
				require.Equal(t, 1, w.eventCount("a PausedPartly: "), w.events)
				require.Equal(t, 1, w.eventCount("Its processes are not frozen either: "+tc.why+". It has the least CPU request"), w.events)
				require.Equal(t, bus.PauseCPU, w.sample("a").Paused)
			})
		})
	}
}

func TestNode_FrozenJobFollowsItsPod(t *testing.T) {
	for name, tc := range map[string]struct {
		then   func(w *harness)
		frozen map[string]bool
	}{
		"it is deleted": {func(w *harness) { w.delete("a", 30*time.Second) }, map[string]bool{"c-a": false}},
		"it is gone":    {func(w *harness) { w.remove("a") }, map[string]bool{"c-a": false}},
		"its container is restarted": {
			func(w *harness) { w.change("a", func(pod *node.Pod) { pod.Containers[0].ID = "c-again" }) },
			map[string]bool{"c-a": true, "c-again": true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			frozenNode(t, func(t *testing.T, w *harness) {
				w.annotatePod("a", gpushare.PausedAnnotation, "true")
				require.True(t, w.frozen["c-a"])
				tc.then(w)
				require.Equal(t, tc.frozen, w.frozen)
			})
		})
	}
}

// A coordinator thaws all containers when it starts, and freezes those of paused jobs again.
func TestNode_FrozenJobSurvivesARestartOfTheCoordinator(t *testing.T) {
	frozenNode(t, func(t *testing.T, w *harness) {
		w.annotatePod("a", gpushare.PausedAnnotation, "true")
		w.pass(2 * interval)
		w.frozen = map[string]bool{}
		w.start(policy.Harmless)
		w.step(node.SamplesRestored{Samples: []bus.Sample{w.sample("a")}})
		for _, pod := range w.pods {
			w.step(node.PodUpdated{Pod: pod})
		}
		w.listAllocations()
		w.pass(interval)
		require.True(t, w.frozen["c-a"])
		require.Equal(t, 1, w.eventCount("a Paused"), w.events)
		require.Zero(t, w.eventCount("a Resumed"))
	})
}
