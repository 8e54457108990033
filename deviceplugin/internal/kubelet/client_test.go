package kubelet_test

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
)

// rateLimitedKubelet rejects as many calls as the value of rejections, and serves later ones.
type rateLimitedKubelet struct {
	podresources.UnimplementedPodResourcesListerServer
	rejections, calls atomic.Int32
}

func (k *rateLimitedKubelet) Get(
	context.Context, *podresources.GetPodResourcesRequest,
) (*podresources.GetPodResourcesResponse, error) {
	k.calls.Add(1)
	if k.rejections.Add(-1) >= 0 {
		return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
	}
	return &podresources.GetPodResourcesResponse{PodResources: &podresources.PodResources{
		Namespace: "ns",
		Name:      "pod",
		Containers: []*podresources.ContainerResources{
			{
				Name: "main",
				Devices: []*podresources.ContainerDevices{{
					ResourceName: "r",
					DeviceIds:    []string{"b", "a"},
				}, {
					ResourceName: "other",
					DeviceIds:    []string{"c"},
				}},
			},
		},
	}}, nil
}

func TestGet_RetriesRateLimit(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := grpc.NewServer()
	k := &rateLimitedKubelet{}
	podresources.RegisterPodResourcesListerServer(server, k)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := kubelet.Dial(socket, "r")
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })

	k.rejections.Store(4)
	devices, err := client.Get(t.Context(), "ns", "pod")
	require.NoError(t, err)
	require.Equal(t, []kubelet.ContainerDevices{{
		Namespace: "ns",
		Pod:       "pod",
		Container: "main",
		IDs:       []string{"a", "b"},
	}}, devices)
	require.Equal(t, int32(5), k.calls.Load())

	k.rejections.Store(1000)
	_, err = client.Get(t.Context(), "ns", "pod")
	require.ErrorContains(t, err, "rejected by rate limit", "retries are limited")
}
