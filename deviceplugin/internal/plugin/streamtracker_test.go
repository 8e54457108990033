package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// kubeletDisconnected returns what the bus says about kubelet's connection.
func (w *harness) kubeletDisconnected() (disconnected, known bool) {
	entries, _, err := w.bus.Session().List(w.t.Context(), bus.GPUsKey(node))
	if err != nil || len(entries) == 0 {
		return false, false
	}
	record, err := bus.Decode[bus.NodeGPUs](entries[0].Value)
	require.NoError(w.t, err)
	return record.Unheard, true
}

func TestPublisher_ReportsKubeletConnection(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	connected := func() bool {
		disconnected, known := w.kubeletDisconnected()
		return known && !disconnected
	}
	w.eventually(connected, "kubelet connects")

	w.kubelet.Stop()
	w.eventually(func() bool {
		disconnected, _ := w.kubeletDisconnected()
		return disconnected
	}, "kubelet stopped; the plugin and its lease live on")

	require.NoError(w.t, w.kubelet.Restart())
	w.eventually(connected, "registered again")
	w.runPod(w.bindPod("p", 1, []growth.GPU{w.gpus[1]}, main(8)))
}

func TestPublisher_StartsDisconnected(t *testing.T) {
	w := newNode(t, "gpushare/gpu-mem")
	w.kubelet.Stop()
	w.start("emulated:2x24GiB")
	t.Cleanup(func() { w.stopPlugin() })
	w.eventually(func() bool {
		disconnected, known := w.kubeletDisconnected()
		return known && disconnected
	}, "published while kubelet is disconnected")
}
