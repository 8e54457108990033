package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/growth"
)

func TestPreStart_RecordsByGetOrList(t *testing.T) {
	for name, rejected := range map[string][]string{
		"a kubelet that serves Get only":         {"List"},
		"an older kubelet that serves List only": {"Get"},
		"a kubelet that serves both":             {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, "emulated:2x16GiB")
			w.kubelet.FailMethods(rejected...)
			w.runPod(w.bindPod("p", 1, []growth.GPU{w.gpus[1]}, main(4)))
			a, ok := w.allocation("p")
			require.True(t, ok, "the start waits for the record")
			require.Equal(t, w.gpus[1], a.Containers[0].GPUs[0].GPU)
		})
	}
}

// Two pods of one size are admitted in reverse order: the first claims are wrong, and the next List corrects them.
func TestPreStart_ListCorrectsWrongClaim(t *testing.T) {
	w := newHarness(t, "emulated:2x16GiB")
	first := w.bindPod("first", 1, []growth.GPU{w.gpus[0]}, main(4))
	second := w.bindPod("second", 2, []growth.GPU{w.gpus[0]}, main(4))
	w.runPod(second)
	w.runPod(first)
	for name, pod := range map[string]*kubelettest.Pod{"first": first, "second": second} {
		a, ok := w.allocation(name)
		require.True(t, ok)
		require.ElementsMatch(t, pod.Containers[0].IDs, a.Containers[0].IDs, name)
	}
}
