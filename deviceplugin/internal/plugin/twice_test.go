package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/kubelettest"
	"github.com/trellis-gpu/trellis/growth"
)

// forgets makes kubelet forget what it is about to give to the next pod: somebody lists what is held at that moment, and a
// pod has just ended.
func (w *world) forgets(ended *kubelettest.Pod) {
	somebody, err := kubelet.Dial(w.kubelet.PodResources, w.resource)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = somebody.Close() })
	w.kubelet.Between(func() {
		w.end(ended)
		_, err := somebody.Holdings(w.t.Context())
		require.NoError(w.t, err)
	})
}

func ids(pod *kubelettest.Pod) []string { return pod.Containers[0].IDs }

func TestWhatKubeletForgotIsNotPreferred(t *testing.T) {
	for name, refused := range map[string][]string{"before a list": {"List"}, "after one": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "emulated:1x24GiB")
			on := []growth.GPU{w.gpus[0]}
			low := w.bind("low", 1, on, main(8))
			high := w.bind("high", 2, on, main(8))
			w.run(low)
			w.run(high)
			w.end(low)
			victim := w.bind("victim", 3, on, main(8))
			w.forgets(high)
			require.NoError(t, w.kubelet.Admit(t.Context(), victim))
			w.kubelet.Refuse(refused...)
			if refused == nil {
				require.NoError(t, w.kubelet.StartContainers(t.Context(), victim))
				w.eventually(func() bool {
					_, ok := w.allocation("victim")
					return ok
				}, "it is recorded")
			}

			next := w.bind("next", 4, on, main(8))
			require.NoError(t, w.kubelet.Admit(t.Context(), next))
			require.NotSubset(t, ids(victim), ids(next)[:1])
			require.Empty(t, shared(ids(victim), ids(next)))
		})
	}
}

func TestWhatKubeletForgotIsRefusedWhereNothingElseIsLeft(t *testing.T) {
	w := newWorld(t, "emulated:1x24GiB")
	on := []growth.GPU{w.gpus[0]}
	large := w.bind("large", 1, on, main(16))
	w.run(large)
	victim := w.bind("victim", 2, on, main(8))
	w.forgets(large)
	w.run(victim)
	for i, name := range []string{"second", "third"} {
		pod := w.bind(name, 3+i, on, main(8))
		w.run(pod)
		require.Empty(t, shared(ids(victim), ids(pod)))
	}
	late := w.bind("late", 5, on, main(8))
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), late), "kubelet has given 8 of these units to another container")
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), late), "requested number of devices unavailable", "its count is right again")
}

func shared(a, b []string) (both []string) {
	for _, id := range a {
		for _, other := range b {
			if id == other {
				both = append(both, id)
			}
		}
	}
	return both
}
