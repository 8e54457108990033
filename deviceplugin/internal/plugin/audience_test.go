package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// unheard is what the bus says of the node's kubelet.
func (w *world) unheard() (unheard, known bool) {
	entries, _, err := w.bus.Session().List(w.t.Context(), bus.GPUsKey(node))
	if err != nil || len(entries) == 0 {
		return false, false
	}
	record, err := bus.Decode[bus.NodeGPUs](entries[0].Value)
	require.NoError(w.t, err)
	return record.Unheard, true
}

func TestTheBusKnowsAtOnceWhetherKubeletListens(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	heard := func() bool {
		unheard, known := w.unheard()
		return known && !unheard
	}
	w.eventually(heard, "kubelet listens")

	w.kubelet.Stop()
	w.eventually(func() bool {
		unheard, _ := w.unheard()
		return unheard
	}, "kubelet died: no lease ends here, the plugin lives")

	w.kubelet.Restart()
	w.eventually(heard, "it is registered with again")
	w.run(w.bind("p", 1, []growth.GPU{w.gpus[1]}, main(8)))
}

func TestAPluginThatBeginsIsNotHeardYet(t *testing.T) {
	w := emptyWorld(t, "gpushare/gpu-mem")
	w.kubelet.Stop()
	w.start("emulated:2x24GiB")
	t.Cleanup(func() { w.ends() })
	w.eventually(func() bool {
		unheard, known := w.unheard()
		return known && unheard
	}, "published, and nobody listens")
}
