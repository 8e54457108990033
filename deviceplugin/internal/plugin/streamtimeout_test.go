package plugin_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/growth"
)

// predecessor is an earlier plugin of the same resource with its own socket.
type predecessor struct {
	pluginapi.UnimplementedDevicePluginServer
	connected chan struct{}
}

func (*predecessor) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *predecessor) ListAndWatch(
	_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse],
) error {
	close(p.connected)
	<-stream.Context().Done()
	return nil
}

// startPredecessor registers a predecessor and returns a function that stops it.
func (w *harness) startPredecessor() (end func()) {
	p := &predecessor{connected: make(chan struct{})}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	listener, err := net.Listen("unix", filepath.Join(w.kubelet.Dir, "old.sock"))
	require.NoError(w.t, err)
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(server.Stop)
	require.NoError(w.t,
		kubelet.Register(w.t.Context(), filepath.Join(w.kubelet.Dir, "kubelet.sock"), &pluginapi.RegisterRequest{
			Version: pluginapi.Version, Endpoint: "old.sock", ResourceName: w.resource,
		}))
	<-p.connected
	return server.Stop
}

// During an upgrade the old plugin can disconnect after the new one has registered.
func TestRegistrar_RegistersAgainWhenKubeletDisconnects(t *testing.T) {
	w := newNode(t, "gpushare/gpu-mem")
	end := w.startPredecessor()
	w.startPlugin("emulated:2x24GiB")
	w.eventually(func() bool {
		disconnected, known := w.kubeletDisconnected()
		return known && !disconnected
	}, "kubelet connects to the new plugin")
	end()
	w.eventually(func() bool { return w.kubelet.Allocatable() == 0 }, "kubelet drops both plugins")
	w.eventually(func() bool {
		disconnected, known := w.kubeletDisconnected()
		return known && !disconnected && w.kubelet.Allocatable() == 48
	}, "registered again")
	require.Equal(t, 3, w.kubelet.Registrations())
	w.runPod(w.bindPod("p", 1, []growth.GPU{w.gpus[1]}, main(8)))
}

func TestRegistrar_WaitsForStoppedKubelet(t *testing.T) {
	w := newHarness(t, "emulated:2x24GiB")
	w.kubelet.Stop()
	w.eventually(func() bool {
		disconnected, _ := w.kubeletDisconnected()
		return disconnected
	}, "kubelet is disconnected")
	require.Equal(t, 1, w.kubelet.Registrations())
	require.NoError(w.t, w.kubelet.Restart())
	w.eventually(func() bool {
		disconnected, known := w.kubeletDisconnected()
		return known && !disconnected
	}, "registered once kubelet runs")
	require.Equal(t, 2, w.kubelet.Registrations())
}
