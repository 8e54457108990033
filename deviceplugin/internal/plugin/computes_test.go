package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Jobs do the work of a GPU that computes on its core, and the coordinator divides its time.
func TestPlugin_EmulatedGPUsThatComputeHaveCores(t *testing.T) {
	for gpus, computes := range map[string]bool{"emulated:2x24GiB,compute": true, "emulated:2x24GiB": false} {
		w := newNode(t, gpushare.Resource)
		w.startPlugin(gpus)
		pod := w.bindPod("p", 1, nil, main(24))
		w.runPod(pod)
		core, ok := pod.Containers[0].Env["GPUSHARE_EMULATED_CORE"]
		require.Equal(t, computes, ok)
		if computes {
			require.Contains(t, []string{"4", "5"}, core)
		}
		var entries []bus.Entry
		w.eventually(func() bool {
			entries, _, _ = w.session.List(t.Context(), bus.GPUsKey(node))
			return len(entries) == 1
		}, "published")
		record, err := bus.Decode[bus.NodeGPUs](entries[0].Value)
		require.NoError(t, err)
		require.Equal(t, computes, record.Computes)
	}
}
