package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slice"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/shim"
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

// A container has what its job saved before it moved before it starts. The next one with the same memory does not.
func TestPreStart_PassesOnWhatWasSavedBeforeAMove(t *testing.T) {
	w := newHarness(t, "emulated:1x4GiB")
	moved := w.bindPod("moved", 1, nil, main(4))
	w.api.change(func() {
		w.api.pods[0].Saved = &gpushare.Saved{Path: "/ckpt/a.pt", Step: 41, SHA256: strings.Repeat("0f", 32)}
	})
	w.runPod(moved)
	path := filepath.Join(w.state, "slots", slice.Slot(ids(moved)), shim.CheckpointFile)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, `{"v":1,"path":"/ckpt/a.pt","step":41,"sha256":"`+strings.Repeat("0f", 32)+`"}`, string(content))
	w.endPod(moved)
	next := w.bindPod("next", 2, nil, main(4))
	w.runPod(next)
	require.Equal(t, slice.Slot(ids(moved)), slice.Slot(ids(next)))
	require.NoFileExists(t, path)
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
