package kubelettest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// endpoint is a registered plugin.
type endpoint struct {
	pluginapi.DevicePluginClient
	connection *grpc.ClientConn
	options    *pluginapi.DevicePluginOptions
	stopped    bool
}

func (e *endpoint) close() { _ = e.connection.Close() }

// Register implements kubelet's registration API. It calls the plugin before it answers.
func (k *Kubelet) Register(ctx context.Context, r *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	if r.GetVersion() != pluginapi.Version {
		return nil, fmt.Errorf("requested API version %q is not supported by kubelet", r.GetVersion())
	}
	if !strings.Contains(r.GetResourceName(), "/") {
		return nil, fmt.Errorf("the ResourceName %q is invalid", r.GetResourceName())
	}
	dial := append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, k.dial...)
	connection, err := grpc.NewClient("unix://"+filepath.Join(k.Dir, r.GetEndpoint()), dial...)
	if err != nil {
		return nil, err
	}
	e := &endpoint{DevicePluginClient: pluginapi.NewDevicePluginClient(connection), connection: connection}
	e.options, err = e.GetDevicePluginOptions(ctx, &pluginapi.Empty{}, grpc.WaitForReady(true))
	if err != nil {
		e.close()
		return nil, fmt.Errorf("failed to get device plugin options: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if strings.HasSuffix(r.GetResourceName(), countSuffix) {
		go k.followCount(e, r.GetResourceName())
		return &pluginapi.Empty{}, nil
	}
	k.endpoint = e
	k.resource = r.GetResourceName()
	if k.devices == nil {
		k.devices = map[string]bool{}
	}
	k.registrations++
	go k.listAndWatch(e, k.generation)
	return &pluginapi.Empty{}, nil
}

// listAndWatch follows the devices until the plugin's stream ends, and then marks them unhealthy. Like the real
// kubelet, it attributes the end to whichever plugin currently serves the resource.
func (k *Kubelet) listAndWatch(e *endpoint, generation int) {
	stream, err := e.ListAndWatch(context.Background(), &pluginapi.Empty{})
	for err == nil {
		var list *pluginapi.ListAndWatchResponse
		list, err = stream.Recv()
		if err == nil {
			k.updateDevices(generation, list)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.generation != generation {
		return
	}
	k.endpoint.stopped = true
	k.endpoint.close()
	for id := range k.devices {
		k.devices[id] = false
	}
}

func (k *Kubelet) updateDevices(generation int, list *pluginapi.ListAndWatchResponse) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.generation != generation {
		return
	}
	k.devices = map[string]bool{}
	k.topology = map[string]int{}
	k.listSize = proto.Size(list)
	for _, d := range list.GetDevices() {
		k.devices[d.GetID()] = d.GetHealth() == pluginapi.Healthy
		if nodes := d.GetTopology().GetNodes(); len(nodes) > 0 {
			k.topology[d.GetID()] = int(nodes[0].GetID())
		}
	}
}
