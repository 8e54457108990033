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

// busy is a kubelet that has too many questions: so many of the next ones it refuses.
type busy struct {
	podresources.UnimplementedPodResourcesListerServer
	refuses, asked atomic.Int32
}

func (b *busy) Get(context.Context, *podresources.GetPodResourcesRequest) (*podresources.GetPodResourcesResponse, error) {
	b.asked.Add(1)
	if b.refuses.Add(-1) >= 0 {
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

func TestAKubeletThatIsBusyIsAskedAgain(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := grpc.NewServer()
	b := &busy{}
	podresources.RegisterPodResourcesListerServer(server, b)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := kubelet.Dial(socket, "r")
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })

	b.refuses.Store(4)
	of, err := client.Get(t.Context(), "ns", "pod")
	require.NoError(t, err)
	require.Equal(t, []kubelet.ContainerDevices{{
		Namespace: "ns",
		Pod:       "pod",
		Container: "main",
		IDs:       []string{"a", "b"},
	}}, of)
	require.Equal(t, int32(5), b.asked.Load())

	b.refuses.Store(1000)
	_, err = client.Get(t.Context(), "ns", "pod")
	require.ErrorContains(t, err, "rejected by rate limit", "and not for ever")
}
