package kubelettest

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Kubelet is a fake kubelet for one test.
type Kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer

	// Dir is the plugin directory; PodResources is the socket of that API.
	Dir, PodResources string

	t       *testing.T
	servers []*grpc.Server

	admission sync.Mutex // pods are admitted one at a time

	mu             sync.Mutex
	generation     int       // number of stops
	endpoint       *endpoint // of the last registered plugin; nil if none has registered since the start
	resource       string
	devices        map[string]bool // healthy by id; nil before the first registration
	registrations  int
	listSize       int // size of the last ListAndWatch message in bytes
	pods           []*Pod
	allocated      map[string]bool // ids in use or being allocated
	stale          bool            // a pod has ended since allocated was computed
	duringAllocate func()          // called once, between the choice of ids and Allocate
	failing        map[string]bool // failing methods of the PodResources API
}

// Start runs a kubelet until the test ends.
func Start(t *testing.T) *Kubelet {
	t.Helper()
	dir, err := os.MkdirTemp("", "kubelet") // t.TempDir may be too long for a socket path
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
		filepath.Join(k.Dir, "kubelet.sock"): func(s *grpc.Server) { pluginapi.RegisterRegistrationServer(s, k) },
		k.PodResources: func(s *grpc.Server) {
			podresources.RegisterPodResourcesListerServer(s,
				k)
		},
	} {
		listener, err := net.Listen("unix", path)
		require.NoError(k.t, err)
		server := grpc.NewServer()
		register(server)
		k.servers = append(k.servers, server)
		go func() { _ = server.Serve(listener) }()
	}
}

// Stop stops the kubelet. It keeps its pods, and that a plugin had registered.
func (k *Kubelet) Stop() {
	for _, server := range k.servers {
		server.Stop()
	}
	k.servers = nil
	k.mu.Lock()
	defer k.mu.Unlock()
	k.generation++
	if k.endpoint != nil {
		k.endpoint.close()
		k.endpoint = nil
		k.devices = map[string]bool{}
	}
}

// Restart stops and starts the kubelet and removes the sockets in its plugin directory.
func (k *Kubelet) Restart() {
	k.Stop()
	sockets, err := filepath.Glob(filepath.Join(k.Dir, "*.sock"))
	require.NoError(k.t, err)
	for _, socket := range sockets {
		require.NoError(k.t, os.Remove(socket))
	}
	k.start()
}

// Adopt adds running pods that another plugin of the resource allocated earlier.
func (k *Kubelet) Adopt(resource string, pods ...*Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resource = resource
	k.pods = append(k.pods, pods...)
	k.recount()
}

// FailMethods makes methods of the PodResources API fail: List like a busy kubelet, Get like a kubelet that lacks it.
func (k *Kubelet) FailMethods(methods ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failing = map[string]bool{}
	for _, m := range methods {
		k.failing[m] = true
	}
}

// Registrations returns the number of registrations.
func (k *Kubelet) Registrations() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.registrations
}

// ListSize returns the size of the last list of devices in bytes.
func (k *Kubelet) ListSize() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.listSize
}

// Capacity returns the number of devices.
func (k *Kubelet) Capacity() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.devices)
}

// Allocatable returns the number of healthy devices.
func (k *Kubelet) Allocatable() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.healthy())
}

// healthy returns the sorted ids of healthy devices.
func (k *Kubelet) healthy() []string {
	var ids []string
	for id, healthy := range k.devices {
		if healthy {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// free returns the sorted ids of healthy devices that are not allocated.
func (k *Kubelet) free() []string {
	return slices.DeleteFunc(k.healthy(), func(id string) bool { return k.allocated[id] })
}

// recountIfStale recomputes the allocated ids if a pod has ended. Like the real kubelet, it then loses the allocation
// in progress.
func (k *Kubelet) recountIfStale() {
	if k.stale {
		k.recount()
	}
}

func (k *Kubelet) recount() {
	k.stale = false
	k.allocated = map[string]bool{}
	for _, pod := range k.pods {
		for _, c := range pod.Containers {
			for _, id := range c.IDs {
				k.allocated[id] = true
			}
		}
	}
}

// DuringAllocate runs event once, during the next allocation.
func (k *Kubelet) DuringAllocate(event func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.duringAllocate = event
}
