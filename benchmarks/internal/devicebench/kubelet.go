package devicebench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// served is the resource of the plugin.
const served = "gpushare/gpu-mem"

// kubelet is a fake of the part that the plugin uses.
type kubelet struct {
	deviceplugin.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer
	dir     string
	servers []*grpc.Server

	mu      sync.Mutex
	plugin  deviceplugin.DevicePluginClient
	message int             // bytes of the device list
	free    map[string]bool // healthy IDs without a pod
	held    map[string][]string
	ready   chan struct{}
}

func startKubelet(dir string) (*kubelet, error) {
	k := &kubelet{dir: dir, free: map[string]bool{}, held: map[string][]string{}, ready: make(chan struct{})}
	for path, register := range map[string]func(*grpc.Server){
		k.registration(): func(s *grpc.Server) { deviceplugin.RegisterRegistrationServer(s, k) },
		k.resources():    func(s *grpc.Server) { podresources.RegisterPodResourcesListerServer(s, k) },
	} {
		listener, err := net.Listen("unix", path)
		if err != nil {
			return nil, fmt.Errorf("starting the fake kubelet: %w", err)
		}
		server := grpc.NewServer()
		register(server)
		k.servers = append(k.servers, server)
		go func() { _ = server.Serve(listener) }()
	}
	return k, nil
}

func (k *kubelet) registration() string { return filepath.Join(k.dir, "kubelet.sock") }
func (k *kubelet) resources() string    { return filepath.Join(k.dir, "pod-resources.sock") }

func (k *kubelet) stop() {
	for _, s := range k.servers {
		s.Stop()
	}
}

// Register implements kubelet's API for plugins.
func (k *kubelet) Register(_ context.Context, r *deviceplugin.RegisterRequest) (*deviceplugin.Empty, error) {
	if r.GetResourceName() != served {
		return nil, fmt.Errorf("registered as %s", r.GetResourceName())
	}
	connection, err := grpc.NewClient("unix://"+filepath.Join(k.dir, r.GetEndpoint()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	plugin := deviceplugin.NewDevicePluginClient(connection)
	go k.follow(plugin)
	return &deviceplugin.Empty{}, nil
}

// follow reads the first device list. The GPUs of this benchmark stay healthy.
func (k *kubelet) follow(plugin deviceplugin.DevicePluginClient) {
	stream, err := plugin.ListAndWatch(context.Background(), &deviceplugin.Empty{})
	if err != nil {
		return
	}
	list, err := stream.Recv()
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plugin, k.message = plugin, proto.Size(list)
	for _, d := range list.GetDevices() {
		k.free[d.GetID()] = d.GetHealth() == deviceplugin.Healthy
	}
	close(k.ready)
}

// List implements kubelet's PodResources API: one entry per ID, as kubelet returns it.
func (k *kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	reply := &podresources.ListPodResourcesResponse{}
	for pod, ids := range k.held {
		reply.PodResources = append(reply.PodResources, resources(pod, ids))
	}
	return reply, nil
}

// Get implements kubelet's PodResources API.
func (k *kubelet) Get(_ context.Context, r *podresources.GetPodResourcesRequest) (*podresources.GetPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids, ok := k.held[r.GetPodName()]
	if !ok {
		return nil, fmt.Errorf("pod %s in namespace %s not found", r.GetPodName(), r.GetPodNamespace())
	}
	return &podresources.GetPodResourcesResponse{PodResources: resources(r.GetPodName(), ids)}, nil
}

func resources(pod string, ids []string) *podresources.PodResources {
	c := &podresources.ContainerResources{Name: "main"}
	for _, id := range ids {
		c.Devices = append(c.Devices, &podresources.ContainerDevices{ResourceName: served, DeviceIds: []string{id}})
	}
	return &podresources.PodResources{Namespace: "default", Name: pod, Containers: []*podresources.ContainerResources{c}}
}

// GetAllocatableResources implements kubelet's PodResources API.
func (*kubelet) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	return &podresources.AllocatableResourcesResponse{}, nil
}

// admit allocates a pod's units and returns the time of Allocate.
func (k *kubelet) admit(ctx context.Context, pod string, units int) (time.Duration, error) {
	k.mu.Lock()
	var available []string
	for id, free := range k.free {
		if free {
			available = append(available, id)
		}
	}
	k.mu.Unlock()
	preferred, err := k.plugin.GetPreferredAllocation(ctx, &deviceplugin.PreferredAllocationRequest{
		ContainerRequests: []*deviceplugin.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: available, AllocationSize: int32(units)}},
	})
	if err != nil {
		return 0, err
	}
	ids := preferred.GetContainerResponses()[0].GetDeviceIDs()
	if len(ids) != units {
		return 0, errors.New("the plugin prefers too few ids")
	}
	begin := time.Now()
	if _, err := k.plugin.Allocate(ctx, &deviceplugin.AllocateRequest{ContainerRequests: []*deviceplugin.ContainerAllocateRequest{{DevicesIds: ids}}}); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		if !k.free[id] {
			return 0, fmt.Errorf("id %s was preferred for two pods", id)
		}
		k.free[id] = false
	}
	k.held[pod] = ids
	return took, nil
}

// start returns the time of PreStartContainer.
func (k *kubelet) start(ctx context.Context, pod string) (time.Duration, error) {
	k.mu.Lock()
	ids := k.held[pod]
	k.mu.Unlock()
	begin := time.Now()
	_, err := k.plugin.PreStartContainer(ctx, &deviceplugin.PreStartContainerRequest{DevicesIds: ids})
	return time.Since(begin), err
}

// end frees a pod's units.
func (k *kubelet) end(pod string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range k.held[pod] {
		k.free[id] = true
	}
	delete(k.held, pod)
}
