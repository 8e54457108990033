package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/growth"
)

// loseNextAllocation makes kubelet lose its next allocation: during it, a pod ends and another client sends a List
// request.
func (w *harness) loseNextAllocation(ended *kubelettest.Pod) {
	observer, err := kubelet.Dial(w.kubelet.PodResources, w.resource)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = observer.Close() })
	w.kubelet.DuringAllocate(func() {
		w.endPod(ended)
		_, err := observer.List(w.t.Context())
		require.NoError(w.t, err)
	})
}

func ids(pod *kubelettest.Pod) []string { return pod.Containers[0].IDs }

func TestPreferred_SkipsDevicesInUse(t *testing.T) {
	for name, rejected := range map[string][]string{"before a List": {"List"}, "after a List": nil} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, "emulated:1x24GiB")
			on := []growth.GPU{w.gpus[0]}
			low := w.bindPod("low", 1, on, main(8))
			high := w.bindPod("high", 2, on, main(8))
			w.runPod(low)
			w.runPod(high)
			w.endPod(low)
			victim := w.bindPod("victim", 3, on, main(8))
			w.loseNextAllocation(high)
			require.NoError(t, w.kubelet.Admit(t.Context(), victim))
			w.kubelet.FailMethods(rejected...)
			if rejected == nil {
				require.NoError(t, w.kubelet.StartContainers(t.Context(), victim))
				w.eventually(func() bool {
					_, ok := w.allocation("victim")
					return ok
				}, "the allocation is recorded")
			}

			next := w.bindPod("next", 4, on, main(8))
			require.NoError(t, w.kubelet.Admit(t.Context(), next))
			require.NotSubset(t, ids(victim), ids(next)[:1])
			require.Empty(t, intersection(ids(victim), ids(next)))
		})
	}
}

func TestAllocate_RejectsDevicesInUse(t *testing.T) {
	w := newHarness(t, "emulated:1x24GiB")
	on := []growth.GPU{w.gpus[0]}
	large := w.bindPod("large", 1, on, main(16))
	w.runPod(large)
	victim := w.bindPod("victim", 2, on, main(8))
	w.loseNextAllocation(large)
	w.runPod(victim)
	for i, name := range []string{"second", "third"} {
		pod := w.bindPod(name, 3+i, on, main(8))
		w.runPod(pod)
		require.Empty(t, intersection(ids(victim), ids(pod)))
	}
	late := w.bindPod("late", 5, on, main(8))
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), late),
		"kubelet has given 8 of these units to another container")
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), late), "requested number of devices unavailable",
		"kubelet's count is correct again")
}

func intersection(a, b []string) (both []string) {
	for _, id := range a {
		for _, other := range b {
			if id == other {
				both = append(both, id)
			}
		}
	}
	return both
}
