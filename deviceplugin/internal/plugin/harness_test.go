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

	"github.com/trellis-gpu/trellis/daemon/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/allocations"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/plugin"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/pods"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/slot"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

const node growth.NodeName = "n1"

// apiServer is a fake of the pod watch.
type apiServer struct {
	mu          sync.Mutex
	pods        []pods.Pod
	unavailable bool
	changed     chan struct{}
}

func (a *apiServer) Pods() ([]pods.Pod, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.pods), !a.unavailable
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

// harness is a node with a kubelet, a plugin with all its parts, and a bus.
type harness struct {
	t          *testing.T
	kubelet    *kubelettest.Kubelet
	api        *apiServer
	bus        *membus.Bus
	session    *membus.Session
	state      string
	inventory  *gpu.Inventory
	stopPlugin func()
	gpus       []growth.GPU
	// resource is the plugin's resource. Another plugin may have served any resource but ours before.
	resource string
	// hideNUMA keeps the NUMA nodes from kubelet.
	hideNUMA bool
	// boot is the id of the machine's boot. events are the plugin's events.
	boot   string
	events *recordedEvents
}

func newHarness(t *testing.T, gpus string) *harness {
	t.Helper()
	w := newNode(t, gpushare.Resource)
	w.startPlugin(gpus)
	return w
}

// newNode returns a node without a plugin.
func newNode(t *testing.T, resource string) *harness {
	t.Helper()
	k, err := kubelettest.Start()
	require.NoError(t, err)
	t.Cleanup(k.Close)
	w := &harness{
		t:          t,
		kubelet:    k,
		api:        &apiServer{changed: make(chan struct{})},
		bus:        membus.New(),
		state:      t.TempDir(),
		resource:   resource,
		stopPlugin: func() {},
		events:     &recordedEvents{},
	}
	w.session = w.bus.Session()
	t.Cleanup(func() { w.stopPlugin() })
	return w
}

// startPlugin starts the plugin and waits until it has registered.
func (w *harness) startPlugin(gpus string) {
	w.t.Helper()
	registrar, tracker := w.start(gpus)
	w.eventually(func() bool {
		return w.kubelet.Allocatable() > 0 && registrar.Registered() && tracker.Synced() != w.api.unavailable
	}, "the plugin registers")
}

func (w *harness) start(gpus string) (*plugin.Registrar, *allocations.Tracker) {
	t, log := w.t, slog.New(slog.NewTextHandler(testWriter{w.t}, nil))
	source, ok, err := gpu.ParseEmulated(gpus, node)
	require.NoError(t, err)
	require.True(t, ok)
	source, err = source.Own([]int{4, 5})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	w.inventory, err = gpu.Open(ctx, source, growth.GiB, log)
	require.NoError(t, err)
	devices, _ := w.inventory.Devices()
	w.gpus = nil
	for _, d := range devices {
		w.gpus = append(w.gpus, d.UUID)
	}
	slots, err := slot.Open(w.state)
	require.NoError(t, err)
	client, err := kubelet.Dial(w.kubelet.PodResources, w.resource)
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	tracker := allocations.New(allocations.Config{
		Node:      node,
		Unit:      growth.GiB,
		Kubelet:   client,
		Pods:      w.api,
		Slots:     slots,
		Bus:       w.session,
		Inventory: w.inventory,
		Boot:      w.boot,
		Events:    w.events,
		Metrics:   allocations.NewMetrics(registry),
		Log:       log,
	})
	metrics := plugin.NewMetrics(registry)
	registrar := &plugin.Registrar{
		Dir:      w.kubelet.Dir,
		Resource: w.resource,
		Lister:   client,
		Metrics:  metrics,
		Log:      log,
		Server: &plugin.Server{
			Unit:        growth.GiB,
			Emulated:    true,
			NUMA:        !w.hideNUMA,
			Inventory:   w.inventory,
			Allocations: tracker,
			Slots:       slots,
			Metrics:     metrics,
			Log:         log,
		},
		AwaitImports: w.resource != gpushare.Resource,
	}
	publisher := allocations.Publisher{
		Node:      node,
		Unit:      growth.GiB,
		Resource:  w.resource,
		Emulated:  true,
		Computes:  source.Computes,
		Inventory: w.inventory,
		Streams:   &registrar.Server.Streams,
		Bus:       w.session,
		Log:       log,
	}
	if registrar.AwaitImports {
		publisher.Ready = tracker.AwaitImportsPublished
	}
	var running sync.WaitGroup
	for _, live := range []func(context.Context) error{registrar.Run, tracker.Run, tracker.Follow, publisher.Run} {
		running.Go(func() { _ = live(ctx) })
	}
	w.stopPlugin = func() {
		cancel()
		running.Wait()
		_ = client.Close()
	}
	return registrar, tracker
}

// testWriter writes logs to the test's log.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(line []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

func (w *harness) eventually(ok func() bool, what string) {
	w.t.Helper()
	require.Eventually(w.t, ok, 15*time.Second, 5*time.Millisecond, what)
}

// bindPod creates a pod that is bound to this node, with the extender's reservation.
func (w *harness) bindPod(
	name string, created int, gpus []growth.GPU, containers ...pods.Container,
) *kubelettest.Pod {
	w.t.Helper()
	ref := growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}
	pod := &kubelettest.Pod{Namespace: ref.Namespace, Name: ref.Name}
	r := bus.Reservation{Pod: ref, Created: time.Unix(int64(created), 0)}
	for _, g := range gpus {
		r.GPUs = append(r.GPUs, growth.GPUShare{GPU: g, Memory: 1})
	}
	for _, c := range containers {
		pod.Containers = append(pod.Containers, &kubelettest.Container{Name: c.Name, Units: c.Units, Init: c.Init})
		r.Containers = append(r.Containers, bus.ContainerRequest{Name: c.Name, Units: c.Units})
	}
	if len(gpus) > 0 {
		value, err := bus.Encode(r)
		require.NoError(w.t, err)
		_, err = w.bus.Session().Put(w.t.Context(), bus.ReservationKey(node, ref.UID), value, bus.Persistent)
		require.NoError(w.t, err)
		time.Sleep(20 * time.Millisecond) // the reservation is on the bus long before kubelet sees the pod
	}
	w.api.change(func() {
		w.api.pods = append(w.api.pods, pods.Pod{
			Ref:        ref,
			Created:    r.Created,
			Count:      max(len(gpus), 1),
			Containers: containers,
		})
	})
	return pod
}

func (w *harness) endPod(pod *kubelettest.Pod) {
	w.kubelet.Remove(pod)
	w.api.change(func() {
		w.api.pods = slices.DeleteFunc(w.api.pods, func(p pods.Pod) bool { return p.Ref.Name == pod.Name })
	})
}

func (w *harness) runPod(pod *kubelettest.Pod) {
	w.t.Helper()
	require.NoError(w.t, w.kubelet.Admit(w.t.Context(), pod))
	require.NoError(w.t, w.kubelet.StartContainers(w.t.Context(), pod))
}

func (w *harness) allocation(name string) (bus.Allocation, bool) {
	entries, _, err := w.bus.Session().List(w.t.Context(), bus.AllocationKey(node, growth.PodUID("uid-"+name)))
	if err != nil || len(entries) == 0 {
		return bus.Allocation{}, false
	}
	a, err := bus.Decode[bus.Allocation](entries[0].Value)
	require.NoError(w.t, err)
	return a, true
}

func main(units int) pods.Container { return pods.Container{Name: "main", Units: units} }
