package contract

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// GetDevicePluginOptions implements the API.
func (p *fakePlugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	p.record(call{method: options})
	return p.options, nil
}

// ListAndWatch implements the API.
func (p *fakePlugin) ListAndWatch(
	_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse],
) error {
	p.record(call{method: watch})
	p.addStream(1)
	defer p.addStream(-1)
	for {
		list, changed := p.list()
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

func (p *fakePlugin) addStream(streams int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams += streams
}

// connected reports whether kubelet has a stream open.
func (p *fakePlugin) connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streams > 0
}

func (p *fakePlugin) list() (*pluginapi.ListAndWatchResponse, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := &pluginapi.ListAndWatchResponse{}
	for _, id := range slices.Sorted(maps.Keys(p.devices)) {
		health := pluginapi.Healthy
		if !p.devices[id] {
			health = pluginapi.Unhealthy
		}
		list.Devices = append(list.Devices, &pluginapi.Device{ID: id, Health: health})
	}
	return list, p.changed
}

// GetPreferredAllocation implements the API. By default it prefers no ids.
func (p *fakePlugin) GetPreferredAllocation(
	_ context.Context, r *pluginapi.PreferredAllocationRequest,
) (*pluginapi.PreferredAllocationResponse, error) {
	reply := &pluginapi.PreferredAllocationResponse{}
	for _, c := range r.GetContainerRequests() {
		request := call{
			method: prefer, size: int(c.GetAllocationSize()),
			available: sorted(c.GetAvailableDeviceIDs()), mustInclude: sorted(c.GetMustIncludeDeviceIDs()),
		}
		var ids []string
		if answer := p.record(request).preferred; answer != nil {
			var err error
			ids, err = answer(request)
			if err != nil {
				return nil, err
			}
		}
		reply.ContainerResponses = append(reply.ContainerResponses,
			&pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return reply, nil
}

// Allocate implements the API. The container gets its ids in a variable, and a directory.
func (p *fakePlugin) Allocate(_ context.Context, r *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	reply := &pluginapi.AllocateResponse{}
	for _, c := range r.GetContainerRequests() {
		request := call{method: allocate, ids: sorted(c.GetDevicesIds())}
		if answer := p.record(request).allocated; answer != nil {
			if err := answer(request); err != nil {
				return nil, err
			}
		}
		reply.ContainerResponses = append(reply.ContainerResponses, &pluginapi.ContainerAllocateResponse{
			Envs:   map[string]string{idsVariable: strings.Join(request.ids, ",")},
			Mounts: []*pluginapi.Mount{{ContainerPath: MountPath, HostPath: p.mountDir, ReadOnly: true}},
		})
	}
	return reply, nil
}

// idsVariable is the variable with a container's ids.
const idsVariable = "CONTRACT_IDS"

// PreStartContainer implements the API.
func (p *fakePlugin) PreStartContainer(
	_ context.Context, r *pluginapi.PreStartContainerRequest,
) (*pluginapi.PreStartContainerResponse, error) {
	request := call{method: preStart, ids: sorted(r.GetDevicesIds())}
	if answer := p.record(request).started; answer != nil {
		if err := answer(request); err != nil {
			return nil, err
		}
	}
	return &pluginapi.PreStartContainerResponse{}, nil
}
