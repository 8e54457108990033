package gpucount_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpucount"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

func TestResource(t *testing.T) {
	for memory, want := range map[string]string{
		gpushare.Resource:   "gpushare/gpu-count",
		aliyun.Resource:     "aliyun.com/gpu-count",
		"example.com/video": "example.com/gpu-count",
	} {
		require.Equal(t, want, gpucount.Resource(memory))
	}
}

// gpus is a source of GPUs.
type gpus []gpu.Device

func (g gpus) Devices(context.Context) ([]gpu.Device, error) { return g, nil }

// start runs a plugin with these GPUs on a fake kubelet.
func start(t *testing.T, memory string, list gpus) (*kubelettest.Kubelet, *gpucount.Plugin) {
	t.Helper()
	k, err := kubelettest.Start()
	require.NoError(t, err)
	t.Cleanup(k.Close)
	inventory, err := gpu.Open(t.Context(), list, growth.GiB, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	plugin := &gpucount.Plugin{
		Dir:       k.Dir,
		Memory:    memory,
		Inventory: inventory,
		Log:       slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = plugin.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return k, plugin
}

func await(t *testing.T, k *kubelettest.Kubelet, resource string, count int) {
	t.Helper()
	require.Eventually(t, func() bool { return k.Count(resource) == count }, 15*time.Second, 5*time.Millisecond)
}

func TestPlugin_CountsUnhealthyGPUs(t *testing.T) {
	k, _ := start(t, gpushare.Resource, gpus{
		{UUID: "GPU-1", Memory: growth.GiB, Healthy: true},
		{UUID: "GPU-2", Memory: growth.GiB, Reason: "XID 79"},
	})
	await(t, k, "gpushare/gpu-count", 2)
}

func TestPlugin_RegistersAgain(t *testing.T) {
	for name, event := range map[string]func(*kubelettest.Kubelet) error{
		"after a restart of kubelet":        (*kubelettest.Kubelet).Restart,
		"after its socket has been removed": removeSocket,
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := start(t, gpushare.Resource, gpus{{UUID: "GPU-1", Memory: growth.GiB, Healthy: true}})
			await(t, k, "gpushare/gpu-count", 1)
			require.NoError(t, event(k))
			socket := filepath.Join(k.Dir, gpucount.SocketName)
			require.Eventually(t, func() bool {
				_, err := os.Stat(socket)
				return err == nil && k.Count("gpushare/gpu-count") == 1
			}, 15*time.Second, 5*time.Millisecond)
		})
	}
}

func removeSocket(k *kubelettest.Kubelet) error {
	return os.Remove(filepath.Join(k.Dir, gpucount.SocketName))
}

func TestAllocate_NamesTheResourceToRequest(t *testing.T) {
	plugin := &gpucount.Plugin{Memory: aliyun.Resource}
	_, err := plugin.Allocate(t.Context(), &pluginapi.AllocateRequest{})
	require.ErrorContains(t, err, "the resource aliyun.com/gpu-count counts the GPUs of a node and gives none: request "+
		"aliyun.com/gpu-mem instead, with the annotation gpushare/gpu-count")
}

// inspectedPod is what Aliyun's `kubectl inspect gpushare` reads of a running pod.
type inspectedPod struct {
	limit       int // of aliyun.com/gpu-mem, over all containers
	annotations map[string]string
}

// inspectSummary is a reference implementation of the summary of Aliyun's `kubectl inspect gpushare`: a column for each
// of count GPUs, whose total is the node's allocatable memory divided by count, and a last column for the node. A pod
// without a valid index is pending. The node's column adds up the columns before it, not the pods.
func inspectSummary(memory, count int, pods []inspectedPod) string {
	const pending = -1
	used := map[int]int{}
	for _, p := range pods {
		index, ok := aliyun.Index(p.annotations)
		if !ok {
			index = pending
		}
		used[index] += p.limit
	}
	var columns []string
	sum := used[pending]
	for i := range count {
		columns = append(columns, fmt.Sprintf("%d/%d", used[i], memory/count))
		sum += used[i]
	}
	return strings.Join(append(columns, fmt.Sprintf("%d/%d", sum, memory)), " ")
}

// TestInspect_SummaryOfThreePods has two GPUs of 48 units and three placed pods of 10 units.
func TestInspect_SummaryOfThreePods(t *testing.T) {
	k, _ := start(t, aliyun.Resource, gpus{
		{UUID: "GPU-1", Memory: 48 * growth.GiB, Healthy: true}, {UUID: "GPU-2", Memory: 48 * growth.GiB, Healthy: true},
	})
	var pods []inspectedPod
	for _, index := range []int{0, 1, 0} {
		placed := aliyun.Assignment{Index: index, Units: 10, GPUUnits: 48}
		pods = append(pods, inspectedPod{limit: 10, annotations: placed.Annotations()})
	}
	require.Equal(t, "0/96", inspectSummary(96, 0, pods), "the tool loses pods on a node without a count")
	await(t, k, "aliyun.com/gpu-count", 2)
	require.Equal(t, "20/48 10/48 30/96", inspectSummary(96, k.Count("aliyun.com/gpu-count"), pods))
}
