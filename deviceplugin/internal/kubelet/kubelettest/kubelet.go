package kubelettest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Kubelet is a kubelet for one test.
type Kubelet struct {
	deviceplugin.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer

	// Dir is its folder of plugins, PodResources its other socket.
	Dir, PodResources string

	t       *testing.T
	servers []*grpc.Server

	mu            sync.Mutex
	plugin        deviceplugin.DevicePluginClient
	connection    *grpc.ClientConn
	resource      string
	healthy       map[string]bool
	registrations int
	message       int // bytes of the last ListAndWatch message
	pods          []*Pod
}

// Start runs a kubelet until the test ends.
func Start(t *testing.T) *Kubelet {
	t.Helper()
	dir, err := os.MkdirTemp("", "kubelet") // t.TempDir may be too long for a socket's name
	require.NoError(t, err)
	k := &Kubelet{Dir: dir, PodResources: filepath.Join(dir, "pr", "kubelet.sock"), t: t}
	require.NoError(t, os.Mkdir(filepath.Dir(k.PodResources), 0o755))
	k.start()
	t.Cleanup(func() {
		k.Stop()
		_ = os.RemoveAll(dir)
	})
	return k
}

func (k *Kubelet) start() {
	for path, register := range map[string]func(*grpc.Server){
		filepath.Join(k.Dir, "kubelet.sock"): func(s *grpc.Server) { deviceplugin.RegisterRegistrationServer(s, k) },
		k.PodResources:                       func(s *grpc.Server) { podresources.RegisterPodResourcesListerServer(s, k) },
	} {
		listener, err := net.Listen("unix", path)
		require.NoError(k.t, err)
		server := grpc.NewServer()
		register(server)
		k.servers = append(k.servers, server)
		go func() { _ = server.Serve(listener) }()
	}
}

// Stop ends it, as when kubelet is away.
func (k *Kubelet) Stop() {
	for _, server := range k.servers {
		server.Stop()
	}
	k.servers = nil
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.connection != nil {
		_ = k.connection.Close()
	}
	k.plugin, k.connection, k.healthy = nil, nil, nil
}

// Restart ends it and starts it again: it clears its folder of sockets, and remembers its pods.
func (k *Kubelet) Restart() {
	k.Stop()
	sockets, err := filepath.Glob(filepath.Join(k.Dir, "*.sock"))
	require.NoError(k.t, err)
	for _, socket := range sockets {
		require.NoError(k.t, os.Remove(socket))
	}
	k.start()
}

// Register implements kubelet's API for plugins.
func (k *Kubelet) Register(_ context.Context, r *deviceplugin.RegisterRequest) (*deviceplugin.Empty, error) {
	if r.GetVersion() != deviceplugin.Version || !r.GetOptions().GetPreStartRequired() || !r.GetOptions().GetGetPreferredAllocationAvailable() {
		return nil, fmt.Errorf("unexpected registration %v", r)
	}
	connection, err := grpc.NewClient("unix://"+filepath.Join(k.Dir, r.GetEndpoint()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.connection != nil {
		_ = k.connection.Close()
	}
	k.connection, k.plugin, k.resource = connection, deviceplugin.NewDevicePluginClient(connection), r.GetResourceName()
	k.registrations++
	go k.follow(k.plugin)
	return &deviceplugin.Empty{}, nil
}

// follow keeps the list of devices, until the plugin goes.
func (k *Kubelet) follow(plugin deviceplugin.DevicePluginClient) {
	stream, err := plugin.ListAndWatch(context.Background(), &deviceplugin.Empty{})
	if err != nil {
		return
	}
	for {
		list, err := stream.Recv()
		k.mu.Lock()
		if k.plugin != plugin {
			k.mu.Unlock()
			return
		}
		k.healthy = map[string]bool{}
		for _, d := range list.GetDevices() {
			k.healthy[d.GetID()] = err == nil && d.GetHealth() == deviceplugin.Healthy
		}
		k.message = sizeOf(list)
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Adopt makes pods run that another plugin of the resource gave their ids, before ours is there.
func (k *Kubelet) Adopt(resource string, pods ...*Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resource, k.pods = resource, append(k.pods, pods...)
}

// Registrations counts how often a plugin registered.
func (k *Kubelet) Registrations() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.registrations
}

// Message is the size of the last list of devices, in bytes.
func (k *Kubelet) Message() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.message
}

// Allocatable counts the healthy devices.
func (k *Kubelet) Allocatable() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, healthy := range k.healthy {
		if healthy {
			n++
		}
	}
	return n
}

// List implements kubelet's API for resources: one entry per id, no ordinary init containers.
func (k *Kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	reply := &podresources.ListPodResourcesResponse{}
	for _, pod := range k.pods {
		listed := &podresources.PodResources{Namespace: pod.Namespace, Name: pod.Name}
		for _, c := range pod.Containers {
			if c.Init {
				continue
			}
			entry := &podresources.ContainerResources{Name: c.Name}
			for _, id := range c.IDs {
				entry.Devices = append(entry.Devices, &podresources.ContainerDevices{ResourceName: k.resource, DeviceIds: []string{id}})
			}
			listed.Containers = append(listed.Containers, entry)
		}
		reply.PodResources = append(reply.PodResources, listed)
	}
	return reply, nil
}

// GetAllocatableResources implements kubelet's API for resources: healthy devices of a plugin that is there.
func (k *Kubelet) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	reply := &podresources.AllocatableResourcesResponse{}
	for id, healthy := range k.healthy {
		if healthy {
			reply.Devices = append(reply.Devices, &podresources.ContainerDevices{ResourceName: k.resource, DeviceIds: []string{id}})
		}
	}
	return reply, nil
}

// free lists healthy devices that nobody holds.
func (k *Kubelet) free() map[string]struct{} {
	free := map[string]struct{}{}
	for id, healthy := range k.healthy {
		if healthy {
			free[id] = struct{}{}
		}
	}
	for _, pod := range k.pods {
		for _, c := range pod.Containers {
			for _, id := range c.IDs {
				delete(free, id)
			}
		}
	}
	return free
}

func ordered(set map[string]struct{}) []string { return slices.Sorted(maps.Keys(set)) }
