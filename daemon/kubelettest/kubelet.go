package kubelettest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Kubelet is a fake kubelet. It is safe for concurrent use, except for Start, Stop, Restart and Close.
type Kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer

	// Dir is the plugin directory; PodResources is the socket of the PodResources API.
	Dir, PodResources string

	dial    []grpc.DialOption // of the connections to plugins
	servers []*grpc.Server

	admission sync.Mutex // pods are admitted one at a time

	mu             sync.Mutex
	generation     int       // number of stops
	endpoint       *endpoint // of the last registered plugin; nil if none has registered since the start
	resource       string
	devices        map[string]bool // healthy by id; nil before the first registration
	counts         map[string]int  // devices of resources that only count
	topology       map[string]int  // NUMA node by id
	policy         TopologyPolicy
	numaNodes      int
	registrations  int
	listSize       int // size of the last ListAndWatch message in bytes
	pods           []*Pod
	allocated      map[string]bool // ids in use or being allocated
	stale          bool            // a pod has ended since allocated was computed
	duringAllocate func()          // called once, between the choice of ids and Allocate
	failing        map[string]bool // failing methods of the PodResources API
}

// Start runs a kubelet in a temporary directory until Close. The options are those of its connections to plugins: a
// benchmark can measure or check kubelet's calls with an interceptor.
func Start(dial ...grpc.DialOption) (*Kubelet, error) {
	dir, err := os.MkdirTemp("", "kubelet") // short: the path of a socket has at most 107 bytes
	if err != nil {
		return nil, fmt.Errorf("starting the fake kubelet: %w", err)
	}
	k := &Kubelet{Dir: dir, PodResources: filepath.Join(dir, "pr", "kubelet.sock"), dial: dial}
	err = os.Mkdir(filepath.Dir(k.PodResources), 0o755)
	if err == nil {
		err = k.start()
	}
	if err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Kubelet) start() error {
	registration := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(registration, k)
	resources := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(resources, k)
	return errors.Join(
		k.serve(registration, filepath.Join(k.Dir, "kubelet.sock")),
		k.serve(resources, k.PodResources),
	)
}

func (k *Kubelet) serve(server *grpc.Server, socket string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("starting the fake kubelet: %w", err)
	}
	k.servers = append(k.servers, server)
	go func() { _ = server.Serve(listener) }()
	return nil
}

// Close stops the kubelet and removes its directory.
func (k *Kubelet) Close() {
	k.Stop()
	_ = os.RemoveAll(k.Dir)
}

// Stop stops the kubelet. It keeps its pods and remembers that a plugin has registered.
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
func (k *Kubelet) Restart() error {
	k.Stop()
	sockets, err := filepath.Glob(filepath.Join(k.Dir, "*.sock"))
	if err != nil {
		return err
	}
	for _, socket := range sockets {
		if err := os.Remove(socket); err != nil {
			return err
		}
	}
	return k.start()
}

// LoseCheckpoint restarts the kubelet without its checkpoint: its containers keep running, and it has forgotten their
// devices.
func (k *Kubelet) LoseCheckpoint() error {
	k.mu.Lock()
	for _, pod := range k.pods {
		for _, c := range pod.Containers {
			if len(c.IDs) > 0 {
				c.IDs = nil
				c.forgotten = true
			}
		}
	}
	k.recount()
	k.mu.Unlock()
	return k.Restart()
}

// RemoveAll removes all pods, as a reboot with an empty checkpoint does.
func (k *Kubelet) RemoveAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = nil
	k.recount()
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
