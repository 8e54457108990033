package plugin_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// adoptForeignPod adds a running pod of Aliyun gpushare's plugin. Its ids do not name the GPU; its annotation has the
// index.
func (w *harness) adoptForeignPod(name string, units, number int) *kubelettest.Pod {
	pod := &kubelettest.Pod{
		Namespace: "ns",
		Name:      name,
		Containers: []*kubelettest.Container{{
			Name:  "main",
			Units: units,
		}},
	}
	for i := range units {
		pod.Containers[0].IDs = append(pod.Containers[0].IDs, fmt.Sprintf("GPU-of-%s-_-%d", name, i))
	}
	w.kubelet.Adopt(w.resource, pod)
	w.api.change(func() {
		w.api.pods = append(w.api.pods, pods.Pod{
			Ref:   growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)},
			Count: 1, GPUIndex: &number, Containers: []pods.Container{main(units)},
		})
	})
	return pod
}

func (w *harness) published() bool {
	entries, _, err := w.bus.Session().List(w.t.Context(), bus.GPUsKey(node))
	return err == nil && len(entries) > 0
}

// TestImport_RunningPodsOfPreviousPlugin replaces Aliyun gpushare's plugin while its pods run.
func TestImport_RunningPodsOfPreviousPlugin(t *testing.T) {
	w := newNode(t, aliyun.Resource)
	old := w.adoptForeignPod("old", 20, 1)
	w.startPlugin("emulated:2x24GiB")
	w.eventually(w.published, "the node is published")
	a, ok := w.allocation("old")
	require.True(t, ok, "the allocation is recorded before the node is published")
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 20 * growth.GiB}}, a.GPUs())
	require.Empty(t, a.Containers[0].Slot)
	require.ElementsMatch(t, old.Containers[0].IDs, a.Containers[0].IDs)
	require.Equal(t, 48, w.kubelet.Allocatable(), "kubelet subtracts the requests of running pods itself")

	w.runPod(w.bindPod("four", 1, []growth.GPU{w.gpus[1]}, main(4)))
	four, _ := w.allocation("four")
	require.Equal(t, []growth.GPUShare{{
		GPU:    w.gpus[1],
		Memory: 4 * growth.GiB,
	}}, four.GPUs(), "the imported pod leaves 4 units free")
	late := w.bindPod("late", 2, []growth.GPU{w.gpus[1]}, main(1))
	w.runPod(late)
	moved, _ := w.allocation("late")
	require.Equal(t, w.gpus[0], moved.GPUs()[0].GPU, "the reserved GPU is full")
	large := w.bindPod("large", 3, nil, main(24))
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), large),
		"another device plugin started hold 20GiB of GPU "+string(w.gpus[1]))
	w.endPod(large)
	require.NoError(t, w.kubelet.StartContainers(t.Context(), old), "a container restarts")

	w.stopPlugin()
	w.startPlugin("emulated:2x24GiB") // our plugin restarts while the imported pod runs
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), w.bindPod("again", 4, nil, main(24))),
		"another device plugin started hold 20GiB")

	w.endPod(old)
	w.eventually(func() bool {
		_, there := w.allocation("old")
		return !there
	}, "the record is deleted")
	w.runPod(w.bindPod("after", 5, []growth.GPU{w.gpus[1]}, main(20)))
	after, _ := w.allocation("after")
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 20 * growth.GiB}}, after.GPUs())
}

// TestImport_BlocksRegistration starts the plugin while the API server is unavailable.
func TestImport_BlocksRegistration(t *testing.T) {
	w := newNode(t, aliyun.Resource)
	w.adoptForeignPod("old", 20, 1)
	w.api.unavailable = true
	registrar, tracker := w.start("emulated:2x24GiB")
	require.Never(t, func() bool { return w.kubelet.Registrations() > 0 || w.published() }, 500*time.Millisecond,
		50*time.Millisecond)
	w.api.change(func() { w.api.unavailable = false })
	w.eventually(func() bool { return registrar.Registered() && w.published() }, "the plugin registers and publishes the node")
	require.Equal(t, map[growth.GPU]int{w.gpus[1]: 20}, map[growth.GPU]int(tracker.ImportedUnits()))
}
