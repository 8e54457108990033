package plugin_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestPlugin_FollowsReservation(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	for i, g := range w.gpus {
		name := []string{"a", "b"}[i]
		pod := w.bindPod(name, i, []growth.GPU{g}, main(8))
		w.runPod(pod)

		c := pod.Containers[0]
		require.Equal(t, map[string]string{
			"NVIDIA_VISIBLE_DEVICES": "void", "GPUSHARE_EMULATED": "1",
			"GPUSHARE_GPU_UUIDS": string(g), "GPUSHARE_GPU_MEM_MIB": "8192", "CUDA_DEVICE_MEMORY_LIMIT_0": "8192m",
			"ALIYUN_COM_GPU_MEM_CONTAINER": "8", "ALIYUN_COM_GPU_MEM_DEV": "24", "PYTHONPATH": "/run/gpushare",
			"GPUSHARE_GPU_MEM_FRACTION": "0.3333", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.3333",
			"TF_FORCE_GPU_ALLOW_GROWTH": "true",
		}, c.Env)
		require.Len(t, c.Mounts, 1)
		require.Equal(t, "/run/gpushare", c.Mounts[0].GetContainerPath())
		require.True(t, c.Mounts[0].GetReadOnly())
		require.FileExists(t, filepath.Join(c.Mounts[0].GetHostPath(), "gpushare.py"))

		a, ok := w.allocation(name)
		require.True(t, ok, "recorded before the container starts")
		require.Equal(t, growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}, a.Pod)
		require.Equal(t, []growth.GPUShare{{GPU: g, Memory: 8 * growth.GiB}}, a.GPUs())
		require.Equal(t, filepath.Base(c.Mounts[0].GetHostPath()), a.Containers[0].Slot)
		require.ElementsMatch(t, c.IDs, a.Containers[0].IDs)
	}
}

func TestPlugin_AdmittedPodsKeepReservations(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	first := w.bindPod("first", 1, []growth.GPU{w.gpus[1]}, main(8))
	second := w.bindPod("second", 2, []growth.GPU{w.gpus[0]}, main(8))
	require.NoError(t, w.kubelet.Admit(t.Context(), first))
	require.NoError(t, w.kubelet.Admit(t.Context(), second))
	require.Equal(t, string(w.gpus[1]), first.Containers[0].Env["GPUSHARE_GPU_UUIDS"])
	require.Equal(t, string(w.gpus[0]), second.Containers[0].Env["GPUSHARE_GPU_UUIDS"])
}

func TestPlugin_RecordsActualDevicesOfSwappedPods(t *testing.T) {
	w := newHarness(t, "emulated:2x8GiB")
	first := w.bindPod("first", 1, []growth.GPU{w.gpus[0]}, main(8))
	second := w.bindPod("second", 2, []growth.GPU{w.gpus[1]}, main(8))
	w.runPod(second) // not in order of creation
	w.runPod(first)
	for name, g := range map[string]growth.GPU{"second": w.gpus[0], "first": w.gpus[1]} {
		a, ok := w.allocation(name)
		require.True(t, ok)
		require.Equal(t, []growth.GPUShare{{GPU: g, Memory: 8 * growth.GiB}}, a.GPUs(), name)
	}
}

func TestPlugin_OneAllocationPerPod(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	pod := w.bindPod("p", 1, []growth.GPU{w.gpus[1]}, main(8), pods.Container{Name: "side", Units: 4})
	w.runPod(pod)
	a, ok := w.allocation("p")
	require.True(t, ok)
	require.Len(t, a.Containers, 2)
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 12 * growth.GiB}}, a.GPUs())
	require.NotEqual(t, a.Containers[0].Slot, a.Containers[1].Slot)
}

func TestPlugin_ReusesInitContainerDevices(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	pod := w.bindPod("p", 1, []growth.GPU{w.gpus[1]}, pods.Container{Name: "init", Units: 4, Init: true},
		main(8))
	w.runPod(pod)
	a, ok := w.allocation("p")
	require.True(t, ok)
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 8 * growth.GiB}}, a.GPUs(), "shared units count once")
}

func TestPlugin_PodWithoutReservationUsesOneGPU(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.runPod(w.bindPod("other", 1, []growth.GPU{w.gpus[1]}, main(20)))
	pod := w.bindPod("p", 2, nil, pods.Container{Name: "init", Units: 4, Init: true},
		pods.Container{Name: "one", Units: 3}, pods.Container{Name: "two", Units: 3})
	w.runPod(pod)
	a, ok := w.allocation("p")
	require.True(t, ok)
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[0], Memory: 6 * growth.GiB}}, a.GPUs())
}

func TestPlugin_WaitsForPodKubeletSeesFirst(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.runPod(w.bindPod("other", 1, []growth.GPU{w.gpus[1]}, main(20)))
	early := &kubelettest.Pod{
		Namespace: "ns",
		Name:      "p",
		Containers: []*kubelettest.Container{{
			Name:  "one",
			Units: 3,
		}, {
			Name:  "two",
			Units: 4,
		}},
	}
	time.AfterFunc(10*time.Millisecond, func() {
		w.bindPod("p", 2, nil, pods.Container{Name: "one", Units: 3},
			pods.Container{Name: "two", Units: 4})
	})
	w.runPod(early)
	require.Equal(t, string(w.gpus[0]), early.Containers[0].Env["GPUSHARE_GPU_UUIDS"],
		"the other GPU has 4 GiB left, the pod needs 7")
	require.Equal(t, string(w.gpus[0]), early.Containers[1].Env["GPUSHARE_GPU_UUIDS"])
}

func TestPlugin_PodOnTwoGPUs(t *testing.T) {
	w := newHarness(t, "emulated:3x24GiB")
	pod := w.bindPod("p", 1, []growth.GPU{w.gpus[0], w.gpus[2]}, main(8))
	w.runPod(pod)
	a, _ := w.allocation("p")
	require.ElementsMatch(t, []growth.GPUShare{{
		GPU:    w.gpus[0],
		Memory: 4096,
	}, {
		GPU:    w.gpus[2],
		Memory: 4096,
	}}, a.GPUs())
	require.Equal(t, "4096,4096", pod.Containers[0].Env["GPUSHARE_GPU_MEM_MIB"])
	require.Equal(t, "4096m", pod.Containers[0].Env["CUDA_DEVICE_MEMORY_LIMIT_1"])
}

func TestPlugin_RejectsSplitAcrossGPUs(t *testing.T) {
	w := newHarness(t, "emulated:2x4GiB")
	w.runPod(w.bindPod("a", 1, []growth.GPU{w.gpus[0]}, main(2)))
	w.runPod(w.bindPod("b", 2, []growth.GPU{w.gpus[1]}, main(2)))
	split := w.bindPod("torn", 3, nil, main(4))
	err := w.kubelet.Admit(t.Context(), split)
	require.ErrorContains(t, err, "no single GPU of this node has 4GiB left")
	require.ErrorContains(t, err, "2GiB on "+string(w.gpus[0]))
	require.ErrorContains(t, err, gpushare.CountAnnotation)
	w.endPod(split)
	w.runPod(w.bindPod("small", 4, nil, main(2)))
}

func TestRegistrar_RegistersAfterKubeletRestart(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	pod := w.bindPod("before", 1, []growth.GPU{w.gpus[1]}, main(8))
	w.runPod(pod)
	start := time.Now()
	require.NoError(w.t, w.kubelet.Restart())
	w.eventually(func() bool { return w.kubelet.Registrations() == 2 && w.kubelet.Allocatable() == 48 },
		"registers again")
	require.Less(t, time.Since(start), 2*time.Second)
	require.NoError(t, w.kubelet.StartContainers(t.Context(), pod), "a container restarts")
	w.runPod(w.bindPod("after", 2, []growth.GPU{w.gpus[0]}, main(8)))
	require.Never(t, func() bool { return w.kubelet.Registrations() > 2 }, 300*time.Millisecond, 50*time.Millisecond,
		"registers only once")
}

func TestPlugin_RestoresAllocationsAfterCrash(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	stays := w.bindPod("stays", 1, []growth.GPU{w.gpus[0]}, main(8))
	goes := w.bindPod("goes", 2, []growth.GPU{w.gpus[1]}, main(8))
	w.runPod(stays)
	require.NoError(t, w.kubelet.Admit(t.Context(), goes)) // crash before PreStartContainer
	w.stopPlugin()
	require.NoError(t, w.session.Delete(t.Context(), bus.AllocationKey(node, "uid-stays")))
	w.startPlugin("emulated:2x24GiB")
	w.eventually(func() bool {
		a, ok := w.allocation("stays")
		b, ok2 := w.allocation("goes")
		return ok && ok2 && a.GPUs()[0].GPU == w.gpus[0] && b.GPUs()[0].GPU == w.gpus[1]
	}, "recorded again from kubelet's list")
	require.NoError(t, w.kubelet.StartContainers(t.Context(), stays))
}

func TestPlugin_RemovesAllocationAndSlotOfDeletedPod(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	pod := w.bindPod("p", 1, []growth.GPU{w.gpus[0]}, main(8))
	w.runPod(pod)
	dir := pod.Containers[0].Mounts[0].GetHostPath()
	w.endPod(pod)
	w.eventually(func() bool {
		_, ok := w.allocation("p")
		return !ok
	}, "the record is deleted")
	require.DirExists(t, dir, "the slot is kept for its grace period")
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(dir, old, old))
	w.api.change(func() {})
	w.eventually(func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}, "then the slot is removed")
}

func TestPlugin_BusUnavailableDelaysRecordOnly(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	pod := w.bindPod("p", 1, []growth.GPU{w.gpus[1]}, main(8))
	w.bus.Fail(bus.ErrUnavailable)
	start := time.Now()
	w.runPod(pod)
	require.Less(t, time.Since(start), 3*time.Second)
	require.Equal(t, string(w.gpus[1]), pod.Containers[0].Env["GPUSHARE_GPU_UUIDS"], "guided by the last snapshot")
	w.bus.Fail(nil)
	w.eventually(func() bool {
		_, ok := w.allocation("p")
		return ok
	}, "recorded once the bus is connected")
}

func TestPlugin_APIServerUnavailableDelaysRecordOnly(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.runPod(w.bindPod("old", 1, []growth.GPU{w.gpus[0]}, main(4)))
	pod := &kubelettest.Pod{Namespace: "ns", Name: "p", Containers: []*kubelettest.Container{{Name: "main", Units: 8}}}
	var kept []pods.Pod
	w.api.change(func() {
		w.api.unavailable = true
		kept = w.api.pods
		w.api.pods = nil
	})
	w.runPod(pod)
	_, ok := w.allocation("p")
	require.False(t, ok, "the pod's UID is unknown")
	require.Never(t, func() bool {
		_, ok := w.allocation("old")
		return !ok
	}, 500*time.Millisecond, 50*time.Millisecond, "nothing is deleted while the API server is unavailable")

	w.api.change(func() {
		w.api.unavailable = false
		w.api.pods = append(kept, pods.Pod{
			Ref: growth.PodRef{
				Namespace: "ns",
				Name:      "p",
				UID:       "uid-p",
			},
			Containers: []pods.Container{main(8)},
		})
	})
	w.eventually(func() bool {
		_, ok := w.allocation("p")
		return ok
	}, "recorded once the UID is known")
}

func TestPlugin_RecordsStaticPodByMirrorPod(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	pod := &kubelettest.Pod{
		Namespace: "ns",
		Name:      "static-n1",
		Containers: []*kubelettest.Container{{
			Name:  "main",
			Units: 8,
		}},
	}
	w.runPod(pod) // kubelet runs static pods without the API server
	_, ok := w.allocation("static-n1")
	require.False(t, ok)
	w.api.change(func() {
		w.api.pods = append(w.api.pods, pods.Pod{
			Ref: growth.PodRef{
				Namespace: "ns",
				Name:      "static-n1",
				UID:       "uid-static-n1",
			},
			Containers: []pods.Container{main(8)},
		})
	})
	w.eventually(func() bool {
		_, ok := w.allocation("static-n1")
		return ok
	}, "recorded with the UID of the mirror pod")
}

func TestPlugin_AllocatesOfflineAfterReboot(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	pod := w.bindPod("p", 1, []growth.GPU{w.gpus[1]}, main(8))
	w.runPod(pod)
	before := *pod.Containers[0]
	w.stopPlugin()
	w.bus.Fail(bus.ErrUnavailable)
	w.api.change(func() { w.api.unavailable = true })
	w.startPlugin("emulated:2x24GiB")
	w.kubelet.Remove(pod)
	again := &kubelettest.Pod{
		Namespace: "ns",
		Name:      "p",
		Containers: []*kubelettest.Container{{
			Name:  "main",
			Units: 8,
		}},
	}
	require.NoError(t, w.kubelet.Admit(t.Context(), again))
	require.Len(t, again.Containers[0].IDs, 8)
	require.Equal(t, before.Env["GPUSHARE_GPU_MEM_MIB"], again.Containers[0].Env["GPUSHARE_GPU_MEM_MIB"])
	require.NoError(t, w.kubelet.StartContainers(t.Context(), again), "PreStartContainer succeeds as well")
}

func TestPlugin_AllocateIsIdempotent(t *testing.T) {
	w := newHarness(t, "emulated:1x8GiB")
	pod := w.bindPod("p", 1, nil, main(8))
	w.runPod(pod)
	again := &kubelettest.Pod{Containers: []*kubelettest.Container{{Name: "main", Units: 8}}}
	w.kubelet.Remove(pod)
	require.NoError(t, w.kubelet.Admit(t.Context(), again))
	require.Equal(t, pod.Containers[0].IDs, again.Containers[0].IDs)
	require.Equal(t, pod.Containers[0].Env, again.Containers[0].Env)
	require.Equal(t, pod.Containers[0].Mounts[0].GetHostPath(), again.Containers[0].Mounts[0].GetHostPath())
}

func TestPlugin_InventoryExpiresWithPlugin(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	var entries []bus.Entry
	w.eventually(func() bool {
		entries, _, _ = w.session.List(t.Context(), bus.GPUsKey(node))
		return len(entries) == 1
	}, "published")
	record, err := bus.Decode[bus.NodeGPUs](entries[0].Value)
	require.NoError(t, err)
	require.True(t, record.Emulated)
	require.Equal(t, growth.GiB, record.Unit)
	require.Len(t, record.GPUs, 2)
	require.NoError(t, w.session.Close())
	entries, _, err = w.session.List(t.Context(), bus.GPUsKey(node))
	require.NoError(t, err)
	require.Empty(t, entries, "the lease has ended with the session")
}

func TestPlugin_LargeNodeFitsOneMessage(t *testing.T) {
	w := newHarness(t, "emulated:8x141GiB")
	require.Equal(t, 8*141, w.kubelet.Allocatable())
	require.Less(t, w.kubelet.ListSize(), 256<<10)
	t.Logf("%d bytes", w.kubelet.ListSize())
}
