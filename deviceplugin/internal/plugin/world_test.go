package plugin_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const node growth.NodeName = "n1"

// apiServer is the API server's pods, as the informer has them.
type apiServer struct {
	mu      sync.Mutex
	pods    []allocations.Pod
	away    bool
	changed chan struct{}
}

func (a *apiServer) Pods() ([]allocations.Pod, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.pods), !a.away
}

func (a *apiServer) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

func (a *apiServer) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// world is a node: a kubelet, a plugin with all its parts, and a bus.
type world struct {
	t       *testing.T
	kubelet *kubelettest.Kubelet
	api     *apiServer
	bus     *membus.Bus
	session *membus.Session
	state   string
	stock   *gpu.Stock
	ends    func()
	gpus    []growth.GPU
	// resource is what the plugin offers; any but ours may have been another plugin's before.
	resource string
}

func newWorld(t *testing.T, gpus string) *world {
	t.Helper()
	w := emptyWorld(t, gpushare.Resource)
	w.plug(gpus)
	return w
}

// emptyWorld is a node without a plugin.
func emptyWorld(t *testing.T, resource string) *world {
	t.Helper()
	w := &world{
		t:        t,
		kubelet:  kubelettest.Start(t),
		api:      &apiServer{changed: make(chan struct{})},
		bus:      membus.New(),
		state:    t.TempDir(),
		resource: resource,
		ends:     func() {},
	}
	w.session = w.bus.Session()
	t.Cleanup(func() { w.ends() })
	return w
}

// plug starts a plugin, and waits until it is registered.
func (w *world) plug(gpus string) {
	w.t.Helper()
	life, books := w.start(gpus)
	w.eventually(func() bool { return w.kubelet.Allocatable() > 0 && life.Registered() && books.Informed() != w.api.away }, "the plugin registers")
}

func (w *world) start(gpus string) (*plugin.Life, *allocations.Ledger) {
	t, log := w.t, slog.New(slog.NewTextHandler(testWriter{w.t}, nil))
	source, ok, err := gpu.ParseEmulated(gpus, node)
	require.NoError(t, err)
	require.True(t, ok)
	ctx, cancel := context.WithCancel(context.Background())
	w.stock, err = gpu.Open(ctx, source, growth.GiB, log)
	require.NoError(t, err)
	devices, _ := w.stock.Devices()
	w.gpus = nil
	for _, d := range devices {
		w.gpus = append(w.gpus, d.UUID)
	}
	slots, err := slot.Open(w.state)
	require.NoError(t, err)
	client, err := kubelet.Dial(w.kubelet.PodResources, w.resource)
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	books := allocations.New(allocations.Config{
		Node:      node,
		Unit:      growth.GiB,
		Kubelet:   client,
		Pods:      w.api,
		Slots:     slots,
		Bus:       w.session,
		Inventory: w.stock,
		Metrics:   allocations.NewMetrics(registry),
		Log:       log,
	})
	metrics := plugin.NewMetrics(registry)
	life := &plugin.Life{
		Dir:      w.kubelet.Dir,
		Resource: w.resource,
		Served:   client,
		Metrics:  metrics,
		Log:      log,
		Server: &plugin.Server{
			Unit:      growth.GiB,
			Emulated:  true,
			Inventory: w.stock,
			Ledger:    books,
			Slots:     slots,
			Metrics:   metrics,
			Log:       log,
		},
		Inherited: w.resource != gpushare.Resource,
	}
	announcer := allocations.Announcer{
		Node:      node,
		Unit:      growth.GiB,
		Resource:  w.resource,
		Emulated:  true,
		Inventory: w.stock,
		Audience:  &life.Server.Audience,
		Bus:       w.session,
		Log:       log,
	}
	if life.Inherited {
		announcer.Ready = books.Booked
	}
	var running sync.WaitGroup
	for _, live := range []func(context.Context) error{life.Run, books.Run, books.Follow, announcer.Run} {
		running.Go(func() { _ = live(ctx) })
	}
	w.ends = func() {
		cancel()
		running.Wait()
		_ = client.Close()
	}
	return life, books
}

// testWriter logs into the test while it runs.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(line []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

func (w *world) eventually(ok func() bool, what string) {
	w.t.Helper()
	require.Eventually(w.t, ok, 15*time.Second, 5*time.Millisecond, what)
}

// bind makes a pod at the API server, bound to this node, with the extender's reservation.
func (w *world) bind(name string, created int, on []growth.GPU, containers ...allocations.Container) *kubelettest.Pod {
	w.t.Helper()
	ref := growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}
	pod := &kubelettest.Pod{Namespace: ref.Namespace, Name: ref.Name}
	r := bus.Reservation{Pod: ref, Created: time.Unix(int64(created), 0)}
	for _, g := range on {
		r.GPUs = append(r.GPUs, growth.GPUShare{GPU: g, Memory: 1})
	}
	for _, c := range containers {
		pod.Containers = append(pod.Containers, &kubelettest.Container{Name: c.Name, Units: c.Units, Init: c.Init})
		r.Containers = append(r.Containers, bus.ContainerRequest{Name: c.Name, Units: c.Units})
	}
	if len(on) > 0 {
		value, err := bus.Encode(r)
		require.NoError(w.t, err)
		_, err = w.bus.Session().Put(w.t.Context(), bus.ReservationKey(node, ref.UID), value, bus.Persistent)
		require.NoError(w.t, err)
		time.Sleep(20 * time.Millisecond) // the reservation is on the bus long before kubelet hears of the pod
	}
	w.api.change(func() {
		w.api.pods = append(w.api.pods, allocations.Pod{
			Ref:        ref,
			Created:    r.Created,
			Count:      max(len(on), 1),
			Containers: containers,
		})
	})
	return pod
}

func (w *world) end(pod *kubelettest.Pod) {
	w.kubelet.Remove(pod)
	w.api.change(func() {
		w.api.pods = slices.DeleteFunc(w.api.pods, func(p allocations.Pod) bool { return p.Ref.Name == pod.Name })
	})
}

func (w *world) run(pod *kubelettest.Pod) {
	w.t.Helper()
	require.NoError(w.t, w.kubelet.Admit(w.t.Context(), pod))
	require.NoError(w.t, w.kubelet.StartContainers(w.t.Context(), pod))
}

func (w *world) allocation(name string) (bus.Allocation, bool) {
	entries, _, err := w.bus.Session().List(w.t.Context(), bus.AllocationKey(node, growth.PodUID("uid-"+name)))
	if err != nil || len(entries) == 0 {
		return bus.Allocation{}, false
	}
	a, err := bus.Decode[bus.Allocation](entries[0].Value)
	require.NoError(w.t, err)
	return a, true
}

func main(units int) allocations.Container { return allocations.Container{Name: "main", Units: units} }
