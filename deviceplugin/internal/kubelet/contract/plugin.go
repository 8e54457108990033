package contract

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
)

// The methods of the device plugin API.
const (
	options  = "GetDevicePluginOptions"
	watch    = "ListAndWatch"
	prefer   = "GetPreferredAllocation"
	allocate = "Allocate"
	preStart = "PreStartContainer"
)

// call is one call from kubelet. All ids are sorted.
type call struct {
	method                      string
	ids, available, mustInclude []string
	size                        int
}

// fakePlugin is a device plugin that records calls and returns configured responses.
type fakePlugin struct {
	pluginapi.UnimplementedDevicePluginServer
	s        *harness
	socket   string // the socket's name
	options  *pluginapi.DevicePluginOptions
	mountDir string
	server   *grpc.Server

	mu        sync.Mutex
	devices   map[string]bool // healthy by id
	changed   chan struct{}
	calls     []call
	streams   int // open ListAndWatch streams
	responses responses
}

// responses are the configured responses; nil functions return the default.
type responses struct {
	preferred          func(call) ([]string, error)
	allocated, started func(call) error
}

// allOptions are the options of our device plugin.
func allOptions() *pluginapi.DevicePluginOptions {
	return &pluginapi.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}
}

// serve listens on the plugin's socket.
func (p *fakePlugin) serve() {
	listener, err := net.Listen("unix", filepath.Join(p.s.PluginDir, p.socket))
	require.NoError(p.s.t, err)
	p.server = grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(p.server, p)
	go func() { _ = p.server.Serve(listener) }()
}

// register calls Register until kubelet accepts, and waits until kubelet has received the devices.
func (p *fakePlugin) register() {
	t := p.s.t
	t.Helper()
	p.s.eventually(func() bool { return p.s.tryRegister(pluginapi.Version, p.s.resource, p) == nil },
		"kubelet accepts the registration")
	p.s.eventually(func() bool { return slices.Equal(p.s.allocatable(), p.healthy()) },
		"kubelet has received the devices")
}

// tryRegister calls Register once.
func (s *harness) tryRegister(version, resource string, p *fakePlugin) error {
	return kubelet.Register(s.t.Context(), filepath.Join(s.PluginDir, "kubelet.sock"), &pluginapi.RegisterRequest{
		Version:      version,
		Endpoint:     p.socket,
		ResourceName: resource,
		Options:      p.options,
	})
}

// stop closes the server and all its connections at once.
func (p *fakePlugin) stop() { p.server.Stop() }

// setHealth changes the health of devices.
func (p *fakePlugin) setHealth(healthy bool, ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		p.devices[id] = healthy
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *fakePlugin) healthy() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for id, healthy := range p.devices {
		if healthy {
			ids = append(ids, id)
		}
	}
	return slices.Sorted(slices.Values(ids))
}

// recorded returns the recorded calls of the given methods, or all calls.
func (p *fakePlugin) recorded(what ...string) []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls []call
	for _, c := range p.calls {
		if len(what) == 0 || slices.Contains(what, c.method) {
			calls = append(calls, c)
		}
	}
	return calls
}

// respondWith sets the responses.
func (p *fakePlugin) respondWith(a responses) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.responses = a
}

// record records a call and returns the configured responses.
func (p *fakePlugin) record(c call) responses {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	return p.responses
}

// awaitSocketRemoved waits until a starting kubelet has removed the plugin's socket.
func (p *fakePlugin) awaitSocketRemoved() {
	p.s.t.Helper()
	p.s.eventually(func() bool {
		_, err := os.Stat(filepath.Join(p.s.PluginDir, p.socket))
		return os.IsNotExist(err)
	}, "a starting kubelet removes plugin sockets")
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }
