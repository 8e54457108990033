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

// Kubelet is a kubelet for one test.
type Kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer

	// Dir is its folder of plugins, PodResources its other socket.
	Dir, PodResources string

	t       *testing.T
	servers []*grpc.Server

	admission sync.Mutex // pods come one after the other

	mu             sync.Mutex
	generation     int       // how often it was stopped
	endpoint       *endpoint // of the plugin that registered last, nil where none has since kubelet started
	resource       string
	devices        map[string]bool // healthy; nil where no plugin has ever registered
	registrations  int
	listSize       int // bytes of the last ListAndWatch message
	pods           []*Pod
	allocated      map[string]bool // what it believes to be held or about to be
	stale          bool            // a pod has, and allocated does not know of it
	duringAllocate func()          // called once, after ids were chosen and before the plugin is asked for them
	failing        map[string]bool // methods of its API for resources
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
		filepath.Join(k.Dir, "kubelet.sock"): func(s *grpc.Server) { pluginapi.RegisterRegistrationServer(s, k) },
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

// Stop ends it, as when kubelet is away. It remembers its pods, and that there was a plugin.
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

// Restart ends it and starts it again: it clears its folder of sockets.
func (k *Kubelet) Restart() {
	k.Stop()
	sockets, err := filepath.Glob(filepath.Join(k.Dir, "*.sock"))
	require.NoError(k.t, err)
	for _, socket := range sockets {
		require.NoError(k.t, os.Remove(socket))
	}
	k.start()
}

// Adopt makes pods run that another plugin of the resource gave their ids, before ours is there.
func (k *Kubelet) Adopt(resource string, pods ...*Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resource = resource
	k.pods = append(k.pods, pods...)
	k.recount()
}

// FailMethods makes methods of its API for resources fail: List when it is busy, Get in kubelets before 1.27.
func (k *Kubelet) FailMethods(methods ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failing = map[string]bool{}
	for _, m := range methods {
		k.failing[m] = true
	}
}

// Registrations counts how often a plugin registered.
func (k *Kubelet) Registrations() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.registrations
}

// ListSize is the size of the last list of devices, in bytes.
func (k *Kubelet) ListSize() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.listSize
}

// Capacity counts the devices.
func (k *Kubelet) Capacity() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.devices)
}

// Allocatable counts the healthy devices.
func (k *Kubelet) Allocatable() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.healthy())
}

// healthy are the ids of healthy devices, in order.
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

// free are healthy devices that it believes to be nobody's, in order.
func (k *Kubelet) free() []string {
	return slices.DeleteFunc(k.healthy(), func(id string) bool { return k.allocated[id] })
}

// recountIfStale counts anew what is held, if a pod has ended since. As the real kubelet, it then forgets what it is just about to
// give away.
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

// DuringAllocate has something happen once, while it allocates.
func (k *Kubelet) DuringAllocate(event func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.duringAllocate = event
}
