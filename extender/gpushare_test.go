package main

import (
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-gpu/trellis/extender/internal/conflict"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// TestPodsOfGpusharesThroughTheStockScheduler places pods that have a limit of aliyun.com/gpu-mem and nothing of ours.
func TestPodsOfGpusharesThroughTheStockScheduler(t *testing.T) {
	plane, s, ended := beside(t, 1, aliyun.Resource, nil)
	ask := func(name string, units int64) {
		pod := trainer(name, 0)
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{aliyun.Resource: *resource.NewQuantity(units, resource.DecimalSI)}
		_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	ask("too-large", 52)
	told(t, plane, "too-large", "GPU memory: 52GiB asked, the largest GPU has 50GiB")
	ask("binpack-1", 3)
	require.Eventually(t, func() bool { return len(bound(t, plane)) == 1 }, time.Minute, 50*time.Millisecond)
	annotations := bound(t, plane)[0].Annotations
	require.Equal(t, "node-0-gpu-0", annotations[gpushare.GPUAnnotation])
	require.Equal(t, "0", annotations["ALIYUN_COM_GPU_MEM_IDX"])
	require.Equal(t, "3", annotations["ALIYUN_COM_GPU_MEM_POD"])
	require.Equal(t, "50", annotations["ALIYUN_COM_GPU_MEM_DEV"])
	want := `{"nodes":[{"name":"node-0","totalGPU":100,"usedGPU":3,"devs":[` +
		`{"id":0,"totalGPU":50,"usedGPU":3,"pods":[{"name":"binpack-1","namespace":"default","usedGPU":3}]},` +
		`{"id":1,"totalGPU":50,"usedGPU":0,"pods":[]}]}]}`
	require.Eventually(t, func() bool { _, shown := get("http://" + s.Listen + "/inspect"); return shown == want }, time.Minute, 50*time.Millisecond)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	require.NoError(t, <-ended)

	theirs := trainer("theirs", 0)
	theirs.Labels, theirs.Spec.NodeName, theirs.Spec.Containers[0].Resources = map[string]string{"component": "gpushare-schd-extender"}, "node-0", corev1.ResourceRequirements{}
	theirs, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), theirs, metav1.CreateOptions{})
	require.NoError(t, err)
	theirs.Status.Phase = corev1.PodRunning
	_, err = plane.Client.CoreV1().Pods("default").UpdateStatus(t.Context(), theirs, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, run(t.Context(), s, slog.New(slog.DiscardHandler)), conflict.ErrFound, "not beside theirs")
}
