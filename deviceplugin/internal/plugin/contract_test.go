package plugin_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/deviceplugin/internal/gpu"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/kubelet/kubelettest"
	"github.com/trellis-gpu/trellis/deviceplugin/internal/ledger"
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
	pods    []ledger.Pod
	away    bool
	changed chan struct{}
}

func (a *apiServer) Pods() ([]ledger.Pod, bool) {
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
		t: t, kubelet: kubelettest.Start(t), api: &apiServer{changed: make(chan struct{})}, bus: membus.New(), state: t.TempDir(),
		resource: resource, ends: func() {},
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

func (w *world) start(gpus string) (*plugin.Life, *ledger.Ledger) {
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
	books := ledger.New(ledger.Config{
		Node: node, Unit: growth.GiB, Kubelet: client, Pods: w.api, Slots: slots, Bus: w.session, Inventory: w.stock, Metrics: ledger.NewMetrics(registry), Log: log,
	})
	metrics := plugin.NewMetrics(registry)
	life := &plugin.Life{Dir: w.kubelet.Dir, Resource: w.resource, Served: client, Metrics: metrics, Log: log, Server: &plugin.Server{
		Unit: growth.GiB, Emulated: true, Inventory: w.stock, Ledger: books, Slots: slots, Metrics: metrics, Log: log,
	}, Inherited: w.resource != gpushare.Resource}
	announcer := ledger.Announcer{Node: node, Unit: growth.GiB, Resource: w.resource, Emulated: true, Inventory: w.stock, Bus: w.session, Log: log}
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
func (w *world) bind(name string, created int, on []growth.GPU, containers ...ledger.Container) *kubelettest.Pod {
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
		w.api.pods = append(w.api.pods, ledger.Pod{Ref: ref, Created: r.Created, Count: max(len(on), 1), Containers: containers})
	})
	return pod
}

func (w *world) end(pod *kubelettest.Pod) {
	w.kubelet.Remove(pod)
	w.api.change(func() {
		w.api.pods = slices.DeleteFunc(w.api.pods, func(p ledger.Pod) bool { return p.Ref.Name == pod.Name })
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

func main(units int) ledger.Container { return ledger.Container{Name: "main", Units: units} }

func TestAPodIsGivenTheGPUReservedForIt(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	for i, g := range w.gpus {
		name := []string{"a", "b"}[i]
		pod := w.bind(name, i, []growth.GPU{g}, main(8))
		w.run(pod)

		c := pod.Containers[0]
		require.Equal(t, map[string]string{
			"NVIDIA_VISIBLE_DEVICES": "void", "GPUSHARE_EMULATED": "1",
			"GPUSHARE_GPU_UUIDS": string(g), "GPUSHARE_GPU_MEM_MIB": "8192", "CUDA_DEVICE_MEMORY_LIMIT_0": "8192m",
			"ALIYUN_COM_GPU_MEM_CONTAINER": "8", "ALIYUN_COM_GPU_MEM_DEV": "24", "PYTHONPATH": "/run/gpushare",
			"GPUSHARE_GPU_MEM_FRACTION": "0.3333", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.3333", "TF_FORCE_GPU_ALLOW_GROWTH": "true",
		}, c.Env)
		require.Len(t, c.Mounts, 1)
		require.Equal(t, "/run/gpushare", c.Mounts[0].GetContainerPath())
		require.True(t, c.Mounts[0].GetReadOnly())
		require.FileExists(t, filepath.Join(c.Mounts[0].GetHostPath(), "gpushare.py"))

		a, ok := w.allocation(name)
		require.True(t, ok, "written before the container starts")
		require.Equal(t, growth.PodRef{Namespace: "ns", Name: name, UID: growth.PodUID("uid-" + name)}, a.Pod)
		require.Equal(t, []growth.GPUShare{{GPU: g, Memory: 8 * growth.GiB}}, a.GPUs())
		require.Equal(t, filepath.Base(c.Mounts[0].GetHostPath()), a.Containers[0].Slot)
		require.ElementsMatch(t, c.IDs, a.Containers[0].IDs)
	}
}

func TestPodsAdmittedBeforeTheyStartKeepTheirOwnReservations(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	first := w.bind("first", 1, []growth.GPU{w.gpus[1]}, main(8))
	second := w.bind("second", 2, []growth.GPU{w.gpus[0]}, main(8))
	require.NoError(t, w.kubelet.Admit(t.Context(), first))
	require.NoError(t, w.kubelet.Admit(t.Context(), second))
	require.Equal(t, string(w.gpus[1]), first.Containers[0].Env["GPUSHARE_GPU_UUIDS"])
	require.Equal(t, string(w.gpus[0]), second.Containers[0].Env["GPUSHARE_GPU_UUIDS"])
}

func TestPodsThatKubeletSwappedAreRecordedAsTheyAre(t *testing.T) {
	w := newWorld(t, "emulated:2x8GiB")
	first := w.bind("first", 1, []growth.GPU{w.gpus[0]}, main(8))
	second := w.bind("second", 2, []growth.GPU{w.gpus[1]}, main(8))
	w.run(second) // against the order of creation
	w.run(first)
	for name, g := range map[string]growth.GPU{"second": w.gpus[0], "first": w.gpus[1]} {
		a, ok := w.allocation(name)
		require.True(t, ok)
		require.Equal(t, []growth.GPUShare{{GPU: g, Memory: 8 * growth.GiB}}, a.GPUs(), name)
	}
}

func TestAllContainersOfAPodAreOneAllocation(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	pod := w.bind("p", 1, []growth.GPU{w.gpus[1]}, main(8), ledger.Container{Name: "side", Units: 4})
	w.run(pod)
	a, ok := w.allocation("p")
	require.True(t, ok)
	require.Len(t, a.Containers, 2)
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 12 * growth.GiB}}, a.GPUs())
	require.NotEqual(t, a.Containers[0].Slot, a.Containers[1].Slot)
}

func TestInitContainersLendTheirIDs(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	pod := w.bind("p", 1, []growth.GPU{w.gpus[1]}, ledger.Container{Name: "init", Units: 4, Init: true}, main(8))
	w.run(pod)
	a, ok := w.allocation("p")
	require.True(t, ok)
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[1], Memory: 8 * growth.GiB}}, a.GPUs(), "counted once")
}

func TestAPodWithoutAReservationStaysOnOneGPU(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.run(w.bind("other", 1, []growth.GPU{w.gpus[1]}, main(20)))
	pod := w.bind("p", 2, nil, ledger.Container{Name: "init", Units: 4, Init: true},
		ledger.Container{Name: "one", Units: 3}, ledger.Container{Name: "two", Units: 3})
	w.run(pod)
	a, ok := w.allocation("p")
	require.True(t, ok)
	require.Equal(t, []growth.GPUShare{{GPU: w.gpus[0], Memory: 6 * growth.GiB}}, a.GPUs())
}

func TestAPodThatKubeletHearsOfFirstIsWaitedFor(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.run(w.bind("other", 1, []growth.GPU{w.gpus[1]}, main(20)))
	early := &kubelettest.Pod{Namespace: "ns", Name: "p", Containers: []*kubelettest.Container{{Name: "one", Units: 3}, {Name: "two", Units: 4}}}
	time.AfterFunc(10*time.Millisecond, func() {
		w.bind("p", 2, nil, ledger.Container{Name: "one", Units: 3}, ledger.Container{Name: "two", Units: 4})
	})
	w.run(early)
	require.Equal(t, string(w.gpus[0]), early.Containers[0].Env["GPUSHARE_GPU_UUIDS"], "the other has 4 GiB left, the pod needs 7")
	require.Equal(t, string(w.gpus[0]), early.Containers[1].Env["GPUSHARE_GPU_UUIDS"])
}

func TestAPodOfTwoGPUs(t *testing.T) {
	w := newWorld(t, "emulated:3x24GiB")
	pod := w.bind("p", 1, []growth.GPU{w.gpus[0], w.gpus[2]}, main(8))
	w.run(pod)
	a, _ := w.allocation("p")
	require.ElementsMatch(t, []growth.GPUShare{{GPU: w.gpus[0], Memory: 4096}, {GPU: w.gpus[2], Memory: 4096}}, a.GPUs())
	require.Equal(t, "4096,4096", pod.Containers[0].Env["GPUSHARE_GPU_MEM_MIB"])
	require.Equal(t, "4096m", pod.Containers[0].Env["CUDA_DEVICE_MEMORY_LIMIT_1"])
}

func TestAJobIsNotTornOverTwoGPUs(t *testing.T) {
	w := newWorld(t, "emulated:2x4GiB")
	w.run(w.bind("a", 1, []growth.GPU{w.gpus[0]}, main(2)))
	w.run(w.bind("b", 2, []growth.GPU{w.gpus[1]}, main(2)))
	torn := w.bind("torn", 3, nil, main(4))
	err := w.kubelet.Admit(t.Context(), torn)
	require.ErrorContains(t, err, "no single GPU of this node has 4GiB left")
	require.ErrorContains(t, err, "2GiB on "+string(w.gpus[0]))
	require.ErrorContains(t, err, gpushare.CountAnnotation)
	w.end(torn)
	w.run(w.bind("small", 4, nil, main(2)))
}

func TestANewKubeletIsRegisteredWith(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	pod := w.bind("before", 1, []growth.GPU{w.gpus[1]}, main(8))
	w.run(pod)
	begin := time.Now()
	w.kubelet.Restart()
	w.eventually(func() bool { return w.kubelet.Registrations() == 2 && w.kubelet.Allocatable() == 48 }, "registers again")
	require.Less(t, time.Since(begin), 2*time.Second)
	require.NoError(t, w.kubelet.StartContainers(t.Context(), pod), "a container that restarts")
	w.run(w.bind("after", 2, []growth.GPU{w.gpus[0]}, main(8)))
	require.Never(t, func() bool { return w.kubelet.Registrations() > 2 }, 300*time.Millisecond, 50*time.Millisecond, "once is enough")
}

func TestAPluginThatDiedTakesUpItsBooks(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	stays, goes := w.bind("stays", 1, []growth.GPU{w.gpus[0]}, main(8)), w.bind("goes", 2, []growth.GPU{w.gpus[1]}, main(8))
	w.run(stays)
	require.NoError(t, w.kubelet.Admit(t.Context(), goes)) // dies before PreStartContainer
	w.ends()
	require.NoError(t, w.session.Delete(t.Context(), bus.AllocationKey(node, "uid-stays")))
	w.plug("emulated:2x24GiB")
	w.eventually(func() bool {
		a, ok := w.allocation("stays")
		b, ok2 := w.allocation("goes")
		return ok && ok2 && a.GPUs()[0].GPU == w.gpus[0] && b.GPUs()[0].GPU == w.gpus[1]
	}, "written again from kubelet's list")
	require.NoError(t, w.kubelet.StartContainers(t.Context(), stays))
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	pod := w.bind("p", 1, []growth.GPU{w.gpus[0]}, main(8))
	w.run(pod)
	folder := pod.Containers[0].Mounts[0].GetHostPath()
	w.end(pod)
	w.eventually(func() bool { _, ok := w.allocation("p"); return !ok }, "the allocation goes")
	require.DirExists(t, folder, "the slot is kept for a while")
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(folder, old, old))
	w.api.change(func() {})
	w.eventually(func() bool { _, err := os.Stat(folder); return errors.Is(err, os.ErrNotExist) }, "then the slot goes")
}

func TestABusThatIsAwayDelaysTheRecordAlone(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	pod := w.bind("p", 1, []growth.GPU{w.gpus[1]}, main(8))
	w.bus.Fail(bus.ErrUnavailable)
	begin := time.Now()
	w.run(pod)
	require.Less(t, time.Since(begin), 3*time.Second)
	require.Equal(t, string(w.gpus[1]), pod.Containers[0].Env["GPUSHARE_GPU_UUIDS"], "steered by the last snapshot")
	w.bus.Fail(nil)
	w.eventually(func() bool { _, ok := w.allocation("p"); return ok }, "written once the bus is back")
}

func TestAnAPIServerThatIsAwayDelaysTheRecordAlone(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	w.run(w.bind("old", 1, []growth.GPU{w.gpus[0]}, main(4)))
	pod := &kubelettest.Pod{Namespace: "ns", Name: "p", Containers: []*kubelettest.Container{{Name: "main", Units: 8}}}
	var kept []ledger.Pod
	w.api.change(func() { w.api.away, kept, w.api.pods = true, w.api.pods, nil })
	w.run(pod)
	_, ok := w.allocation("p")
	require.False(t, ok, "nobody knows its UID")
	require.Never(t, func() bool { _, ok := w.allocation("old"); return !ok }, 500*time.Millisecond, 50*time.Millisecond, "nothing is destroyed on ignorance")

	w.api.change(func() {
		w.api.away = false
		w.api.pods = append(kept, ledger.Pod{Ref: growth.PodRef{Namespace: "ns", Name: "p", UID: "uid-p"}, Containers: []ledger.Container{main(8)}})
	})
	w.eventually(func() bool { _, ok := w.allocation("p"); return ok }, "written once its UID is known")
}

func TestAStaticPodIsRecordedOnceItsMirrorIsThere(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	pod := &kubelettest.Pod{Namespace: "ns", Name: "static-n1", Containers: []*kubelettest.Container{{Name: "main", Units: 8}}}
	w.run(pod) // kubelet needs nobody's leave to run it
	_, ok := w.allocation("static-n1")
	require.False(t, ok)
	w.api.change(func() {
		w.api.pods = append(w.api.pods, ledger.Pod{Ref: growth.PodRef{Namespace: "ns", Name: "static-n1", UID: "uid-static-n1"}, Containers: []ledger.Container{main(8)}})
	})
	w.eventually(func() bool { _, ok := w.allocation("static-n1"); return ok }, "by the UID of its mirror pod")
}

func TestAfterARebootAllocateNeedsNobody(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	pod := w.bind("p", 1, []growth.GPU{w.gpus[1]}, main(8))
	w.run(pod)
	before := *pod.Containers[0]
	w.ends()
	w.bus.Fail(bus.ErrUnavailable)
	w.api.change(func() { w.api.away = true })
	w.plug("emulated:2x24GiB")
	w.kubelet.Remove(pod)
	again := &kubelettest.Pod{Namespace: "ns", Name: "p", Containers: []*kubelettest.Container{{Name: "main", Units: 8}}}
	require.NoError(t, w.kubelet.Admit(t.Context(), again))
	require.Len(t, again.Containers[0].IDs, 8)
	require.Equal(t, before.Env["GPUSHARE_GPU_MEM_MIB"], again.Containers[0].Env["GPUSHARE_GPU_MEM_MIB"])
	require.NoError(t, w.kubelet.StartContainers(t.Context(), again), "and neither does a start")
}

func TestAllocateIsIdempotent(t *testing.T) {
	w := newWorld(t, "emulated:1x24GiB")
	pod := w.bind("p", 1, nil, main(8))
	w.run(pod)
	again := &kubelettest.Pod{Containers: []*kubelettest.Container{{Name: "main", Units: 8}}}
	w.kubelet.Remove(pod)
	require.NoError(t, w.kubelet.Admit(t.Context(), again))
	require.Equal(t, pod.Containers[0].IDs, again.Containers[0].IDs)
	require.Equal(t, pod.Containers[0].Env, again.Containers[0].Env)
	require.Equal(t, pod.Containers[0].Mounts[0].GetHostPath(), again.Containers[0].Mounts[0].GetHostPath())
}

func TestTheInventoryIsOnTheBusWhileThePluginLives(t *testing.T) {
	w := newWorld(t, "emulated:2x24GiB")
	var entries []bus.Entry
	w.eventually(func() bool {
		entries, _, _ = w.session.List(t.Context(), bus.GPUsKey(node))
		return len(entries) == 1
	}, "published")
	record, err := bus.Decode[bus.NodeGPUs](entries[0].Value)
	require.NoError(t, err)
	require.True(t, record.Emulated)
	require.Equal(t, growth.GiB, record.Unit)
	require.Len(t, record.GPUs, 2)
	require.NoError(t, w.session.Close())
	entries, _, err = w.session.List(t.Context(), bus.GPUsKey(node))
	require.NoError(t, err)
	require.Empty(t, entries, "gone with its writer")
}

func TestALargeNodeFitsOneMessage(t *testing.T) {
	w := newWorld(t, "emulated:8x141GiB")
	require.Equal(t, 8*141, w.kubelet.Allocatable())
	require.Less(t, w.kubelet.Message(), 256<<10)
	t.Logf("%d bytes", w.kubelet.Message())
}
