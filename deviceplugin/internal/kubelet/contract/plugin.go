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

// The calls of a plugin.
const (
	options  = "GetDevicePluginOptions"
	watch    = "ListAndWatch"
	prefer   = "GetPreferredAllocation"
	allocate = "Allocate"
	preStart = "PreStartContainer"
)

// call is what kubelet asked. ids are sorted, as are available and must.
type call struct {
	method                      string
	ids, available, mustInclude []string
	size                        int
}

// fakePlugin is a device plugin that writes down what it is asked, and answers as it is told.
type fakePlugin struct {
	pluginapi.UnimplementedDevicePluginServer
	s        *harness
	socket   string // its name
	options  *pluginapi.DevicePluginOptions
	mountDir string
	server   *grpc.Server

	mu        sync.Mutex
	devices   map[string]bool // healthy
	changed   chan struct{}
	calls     []call
	streams   int // that kubelet listens to
	responses responses
}

// responses are how a probe answers; nil is the simplest.
type responses struct {
	preferred          func(call) ([]string, error)
	allocated, started func(call) error
}

// allOptions is what our device plugin offers.
func allOptions() *pluginapi.DevicePluginOptions {
	return &pluginapi.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}
}

// serve listens at its socket.
func (p *fakePlugin) serve() {
	listener, err := net.Listen("unix", filepath.Join(p.s.PluginDir, p.socket))
	require.NoError(p.s.t, err)
	p.server = grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(p.server, p)
	go func() { _ = p.server.Serve(listener) }()
}

// register tries until kubelet accepts, and waits until it has taken the devices in.
func (p *fakePlugin) register() {
	t := p.s.t
	t.Helper()
	p.s.eventually(func() bool { return p.s.tryRegister(pluginapi.Version, p.s.resource, p) == nil }, "kubelet takes a registration")
	p.s.eventually(func() bool { return slices.Equal(p.s.allocatable(), p.healthy()) }, "kubelet takes the devices in")
}

// tryRegister is one attempt to register.
func (s *harness) tryRegister(version, resource string, p *fakePlugin) error {
	return kubelet.Register(s.t.Context(), filepath.Join(s.PluginDir, "kubelet.sock"), &pluginapi.RegisterRequest{
		Version:      version,
		Endpoint:     p.socket,
		ResourceName: resource,
		Options:      p.options,
	})
}

// stop ends it, at once and with all its connections.
func (p *fakePlugin) stop() { p.server.Stop() }

// setHealth changes devices' health.
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

// recorded lists what kubelet has asked so far, but for those of no interest; none named are all.
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

// respondWith changes how it answers.
func (p *fakePlugin) respondWith(a responses) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.responses = a
}

// record writes a call down, and says how to answer it.
func (p *fakePlugin) record(c call) responses {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	return p.responses
}

// awaitSocketRemoved waits until kubelet has cleared the probe's socket away, as one that starts does.
func (p *fakePlugin) awaitSocketRemoved() {
	p.s.t.Helper()
	p.s.eventually(func() bool {
		_, err := os.Stat(filepath.Join(p.s.PluginDir, p.socket))
		return os.IsNotExist(err)
	}, "a kubelet that starts clears plugins' sockets away")
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }
