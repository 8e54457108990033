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

// TestExtender_PlacesAliyunPods places pods with only a limit of aliyun.com/gpu-mem, through the stock scheduler.
func TestExtender_PlacesAliyunPods(t *testing.T) {
	plane, c, ended := start(t, 1, aliyun.Resource, nil)
	create := func(name string, units int64) {
		pod := trainer(name, 0)
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{aliyun.Resource: *resource.NewQuantity(units, resource.DecimalSI)}
		_, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	create("too-large", 52)
	requireEvent(t, plane, "too-large", "GPU memory: 52GiB asked, the largest GPU has 50GiB")
	create("binpack-1", 3)
	require.Eventually(t, func() bool { return len(bound(t, plane)) == 1 }, time.Minute, 50*time.Millisecond)
	annotations := bound(t, plane)[0].Annotations
	require.Equal(t, "node-0-gpu-0", annotations[gpushare.GPUAnnotation])
	require.Equal(t, "0", annotations["ALIYUN_COM_GPU_MEM_IDX"])
	require.Equal(t, "3", annotations["ALIYUN_COM_GPU_MEM_POD"])
	require.Equal(t, "50", annotations["ALIYUN_COM_GPU_MEM_DEV"])
	want := `{"nodes":[{"name":"node-0","totalGPU":100,"usedGPU":3,"devs":[` +
		`{"id":0,"totalGPU":50,"usedGPU":3,"pods":[{"name":"binpack-1","namespace":"default","usedGPU":3}]},` +
		`{"id":1,"totalGPU":50,"usedGPU":0,"pods":[]}]}]}`
	require.Eventually(t, func() bool {
		_, body := get("http://" + c.Listen + "/inspect")
		return body == want
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	require.NoError(t, <-ended)

	other := trainer("other", 0)
	other.Labels = map[string]string{"component": "gpushare-schd-extender"}
	other.Spec.NodeName = "node-0"
	other.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	other, err := plane.Client.CoreV1().Pods("default").Create(t.Context(), other, metav1.CreateOptions{})
	require.NoError(t, err)
	other.Status.Phase = corev1.PodRunning
	_, err = plane.Client.CoreV1().Pods("default").UpdateStatus(t.Context(), other, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, run(t.Context(), c, slog.New(slog.DiscardHandler)), conflict.ErrFound, "Aliyun gpushare's extender runs")
}
