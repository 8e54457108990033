package contract

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

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
	what                 string
	ids, available, must []string
	size                 int
}

// probe is a device plugin that writes down what it is asked, and answers as it is told.
type probe struct {
	deviceplugin.UnimplementedDevicePluginServer
	s       *stage
	socket  string // its name
	offers  *deviceplugin.DevicePluginOptions
	mounted string
	server  *grpc.Server

	mu      sync.Mutex
	devices map[string]bool // healthy
	changed chan struct{}
	calls   []call
	streams int // that kubelet listens to
	answers answers
}

// answers are how a probe answers; nil is the simplest.
type answers struct {
	preferred          func(call) ([]string, error)
	allocated, started func(call) error
}

// everything is what our device plugin offers.
func everything() *deviceplugin.DevicePluginOptions {
	return &deviceplugin.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}
}

// serve listens at its socket.
func (p *probe) serve() {
	listener, err := net.Listen("unix", filepath.Join(p.s.Plugins, p.socket))
	require.NoError(p.s.t, err)
	p.server = grpc.NewServer()
	deviceplugin.RegisterDevicePluginServer(p.server, p)
	go func() { _ = p.server.Serve(listener) }()
}

// register tries until kubelet accepts, and waits until it has taken the devices in.
func (p *probe) register() {
	t := p.s.t
	t.Helper()
	p.s.eventually(func() bool { return p.s.apply(deviceplugin.Version, p.s.resource, p) == nil }, "kubelet takes a registration")
	p.s.eventually(func() bool { return slices.Equal(p.s.served(), p.healthy()) }, "kubelet takes the devices in")
}

// apply is one attempt to register.
func (s *stage) apply(version, resource string, p *probe) error {
	return kubelet.Register(s.t.Context(), filepath.Join(s.Plugins, "kubelet.sock"), &deviceplugin.RegisterRequest{
		Version:      version,
		Endpoint:     p.socket,
		ResourceName: resource,
		Options:      p.offers,
	})
}

// dies ends it, at once and with all its connections.
func (p *probe) dies() { p.server.Stop() }

// set changes devices' health.
func (p *probe) set(healthy bool, ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		p.devices[id] = healthy
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *probe) healthy() []string {
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

// asked lists what kubelet has asked so far, but for those of no interest; none named are all.
func (p *probe) asked(what ...string) []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls []call
	for _, c := range p.calls {
		if len(what) == 0 || slices.Contains(what, c.what) {
			calls = append(calls, c)
		}
	}
	return calls
}

// answer changes how it answers.
func (p *probe) answer(a answers) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = a
}

// note writes a call down, and says how to answer it.
func (p *probe) note(c call) answers {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	return p.answers
}

// forgotten waits until kubelet has cleared the probe's socket away, as one that starts does.
func (p *probe) forgotten() {
	p.s.t.Helper()
	p.s.eventually(func() bool {
		_, err := os.Stat(filepath.Join(p.s.Plugins, p.socket))
		return os.IsNotExist(err)
	}, "a kubelet that starts clears plugins' sockets away")
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }
