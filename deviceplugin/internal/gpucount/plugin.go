package gpucount

import (
	"context"
	"log/slog"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Resource returns the name of the count that belongs to a resource of GPU memory: "aliyun.com/gpu-count" for
// "aliyun.com/gpu-mem".
func Resource(memory string) string {
	domain, _, _ := strings.Cut(memory, "/")
	return domain + "/gpu-count"
}

// Inventory lists the GPUs. The channel is closed when the list changes.
type Inventory interface {
	Devices() ([]gpu.Device, <-chan struct{})
}

// Plugin implements the device plugin API.
type Plugin struct {
	pluginapi.UnimplementedDevicePluginServer

	// Dir is kubelet's plugin directory.
	Dir string
	// Memory is the resource of GPU memory.
	Memory    string
	Inventory Inventory
	Log       *slog.Logger
}

// GetDevicePluginOptions implements the API.
func (p *Plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

// ListAndWatch implements the API. It returns when kubelet's stream or the server ends.
func (p *Plugin) ListAndWatch(
	_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse],
) error {
	for {
		devices, changed := p.Inventory.Devices()
		list := &pluginapi.ListAndWatchResponse{}
		for _, d := range devices {
			list.Devices = append(list.Devices, &pluginapi.Device{ID: string(d.UUID), Health: pluginapi.Healthy})
		}
		if err := stream.Send(list); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// Allocate implements the API. It rejects every request.
func (p *Plugin) Allocate(context.Context, *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	return nil, status.Errorf(codes.InvalidArgument,
		"the resource %s counts the GPUs of a node and gives none: request %s instead, with the annotation %s for the "+
			"number of GPUs", Resource(p.Memory), p.Memory, gpushare.CountAnnotation)
}
