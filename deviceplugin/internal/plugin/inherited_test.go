package plugin_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/kubelettest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// inherit makes a pod run that gpushare's plugin gave so many ids of a GPU: they say nothing of where it is, number does.
func (w *world) inherit(name string, units, number int) *kubelettest.Pod {
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
		w.api.pods = append(w.api.pods, allocations.Pod{
			Ref:   growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)},
			Count: 1, Number: &number, Containers: []allocations.Container{main(units)},
		})
	})
	return pod
}

func (w *world) published() bool {
	entries, _, err := w.bus.Session().List(w.t.Context(), bus.GPUsKey(node))
	return err == nil && len(entries) > 0
}

// TestPodsOfTheOldPluginGoOnAndAreCounted changes gpushare's device plugin for ours under running pods.
func TestPodsOfTheOldPluginGoOnAndAreCounted(t *testing.T) {
	w := emptyWorld(t, aliyun.Resource)
	old := w.inherit("old", 20, 1)
	w.plug("emulated:2x24GiB")
	w.eventually(w.published, "the node is offered")
	a, ok := w.allocation("old")
	require.True(t, ok, "on the bus before the node is")
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 20 * growth.GiB}}, a.GPUs())
	require.Empty(t, a.Containers[0].Slot)
	require.ElementsMatch(t, old.Containers[0].IDs, a.Containers[0].IDs)
	require.Equal(t, 48, w.kubelet.Allocatable(), "kubelet subtracts running pods' requests itself")

	w.run(w.bind("four", 1, []growth.GPU{w.gpus[1]}, main(4)))
	four, _ := w.allocation("four")
	require.Equal(t, []growth.GPUShare{{
		GPU:    w.gpus[1],
		Memory: 4 * growth.GiB,
	}}, four.GPUs(), "what the old pod leaves")
	late := w.bind("late", 2, []growth.GPU{w.gpus[1]}, main(1))
	w.run(late)
	moved, _ := w.allocation("late")
	require.Equal(t, w.gpus[0], moved.GPUs()[0].GPU, "whatever was reserved: that GPU is full")
	large := w.bind("large", 3, nil, main(24))
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), large), "another device plugin started hold 20GiB of GPU "+string(w.gpus[1]))
	w.end(large)
	require.NoError(t, w.kubelet.StartContainers(t.Context(), old), "a container of it that restarts")

	w.ends()
	w.plug("emulated:2x24GiB") // our plugin restarts: the old pod is still there
	require.ErrorContains(t, w.kubelet.Admit(t.Context(), w.bind("again", 4, nil, main(24))), "another device plugin started hold 20GiB")

	w.end(old)
	w.eventually(func() bool {
		_, there := w.allocation("old")
		return !there
	}, "forgotten")
	w.run(w.bind("after", 5, []growth.GPU{w.gpus[1]}, main(20)))
	after, _ := w.allocation("after")
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 20 * growth.GiB}}, after.GPUs())
}

// TestNothingIsOfferedBeforeItIsKnownWhatOldPodsHold has the API server away while the plugin starts.
func TestNothingIsOfferedBeforeItIsKnownWhatOldPodsHold(t *testing.T) {
	w := emptyWorld(t, aliyun.Resource)
	w.inherit("old", 20, 1)
	w.api.away = true
	life, books := w.start("emulated:2x24GiB")
	require.Never(t, func() bool { return w.kubelet.Registrations() > 0 || w.published() }, 500*time.Millisecond, 50*time.Millisecond)
	w.api.change(func() { w.api.away = false })
	w.eventually(func() bool { return life.Registered() && w.published() }, "offered")
	require.Equal(t, map[growth.GPU]int{w.gpus[1]: 20}, map[growth.GPU]int(books.Held()))
}
