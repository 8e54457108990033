package turnbench

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/coordinator/internal/loop"
	"github.com/trellis-gpu/trellis/coordinator/internal/metrics"
	"github.com/trellis-gpu/trellis/coordinator/internal/observe/socket"
	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/coordinator/internal/publish"
	"github.com/trellis-gpu/trellis/coordinator/internal/turns"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/fairfinish"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
	"github.com/trellis-gpu/trellis/growth/policy"
	"github.com/trellis-gpu/trellis/growth/turn"
)

const (
	nodeName growth.NodeName = "node"
	theGPU   growth.GPU      = "GPU-0"
)

// machine is one node with one GPU: its pods, its bus, and its folder with the sockets. It outlives its coordinator.
type machine struct {
	b     *bench
	state string
	bus   *membus.Bus

	mu     sync.Mutex
	pods   map[growth.PodUID]*corev1.Pod
	jobs   map[growth.PodUID]*job
	memory node.Memory
	events []string

	coordinator *coordinator
}

func (b *bench) newMachine() *machine {
	m := &machine{
		b:     b,
		state: b.t.TempDir(),
		bus:   membus.New(),
		pods:  map[growth.PodUID]*corev1.Pod{},
		jobs:  map[growth.PodUID]*job{},
	}
	b.t.Cleanup(m.close)
	return m
}

// close ends the jobs and the coordinator.
func (m *machine) close() {
	for _, j := range m.running() {
		j.kill()
	}
	m.stop()
}

func (m *machine) running() (running []*job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		running = append(running, j)
	}
	return running
}

// coordinator is a running coordinator.
type coordinator struct {
	loop  *loop.Loop
	turns *division
	stop  func()
}

// variant is how a coordinator divides the GPU.
type variant struct {
	name    string
	policy  policy.Name
	gpuTime policy.GPUTime
}

// The variants. In plain sharing no job waits for a turn.
var (
	plain    = variant{"plain sharing", policy.Fair, policy.GPUTimeOff}
	harmless = variant{"harmless", policy.Harmless, policy.GPUTimeAuto}
)

// start starts a coordinator, as after an update of its DaemonSet if there was one before.
func (m *machine) start(v variant) {
	quiet := m.b.log
	l := loop.New(m.b.decisions(v), metrics.New(prometheus.NewRegistry(), func() time.Duration { return 0 }), quiet)
	m.mu.Lock()
	l.Restore(m.memory)
	m.mu.Unlock()
	sockets, err := socket.New(m.state, socket.DefaultLimits, quiet, l.Socket)
	require.NoError(m.b.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	fakes := &fakes{machine: m, loop: l}
	ports := loop.Ports{
		Sockets:  sockets,
		Usages:   fakes,
		Logs:     fakes,
		Files:    noFiles{},
		Enforcer: fakes,
		Pods:     fakes,
		Memory:   fakes,
	}
	records := publish.NewRecords(m.bus.Session(), nodeName, policy.DefaultInterval, quiet)
	ports.Records = records
	server := &division{
		Server: turns.New(m.state, sockets.Private(), turn.Default, quiet, turns.NewMetrics(prometheus.NewRegistry())),
	}
	if v.gpuTime != policy.GPUTimeOff {
		ports.Turns = server
	}
	var wg sync.WaitGroup
	for _, run := range []func(context.Context){
		func(ctx context.Context) { _ = l.Run(ctx, ports) },
		func(ctx context.Context) { _ = server.Run(ctx) },
		func(ctx context.Context) { _ = records.Run(ctx) },
		func(ctx context.Context) { l.FollowAllocations(ctx, m.bus.Session(), nodeName) },
		func(ctx context.Context) { l.FollowInventory(ctx, m.bus.Session(), nodeName) },
		func(ctx context.Context) { l.FollowJobs(ctx, m.bus.Session(), nodeName) },
	} {
		wg.Go(func() { run(ctx) })
	}
	m.coordinator = &coordinator{loop: l, turns: server, stop: func() {
		cancel()
		wg.Wait()
		server.Shutdown()
		sockets.Shutdown()
	}}
	m.put(bus.GPUsKey(nodeName), encode(m.b.t, m.inventory()))
	l.Capacity(growth.MilliCPU(len(m.b.cores)) * growth.Core)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pod := range m.pods {
		l.PodUpdated(pods.Read(pod))
	}
}

// stop ends the coordinator in order. The jobs see the end of their connections.
func (m *machine) stop() {
	if m.coordinator != nil {
		m.coordinator.stop()
		m.coordinator = nil
	}
}

// decisions has the settings of deploy/base, except for the variant.
func (b *bench) decisions(v variant) node.Config {
	return node.Config{
		Policy:    v.policy,
		Interval:  policy.DefaultInterval,
		Alpha:     policy.DefaultAlpha,
		Beta:      policy.DefaultBeta,
		Objective: fairfinish.Balanced,
		Converged: policy.ConvergedFair,
		GPUTime:   v.gpuTime,
		Damping:   node.KubeletDamping(policy.DefaultInterval),
	}
}

func (m *machine) inventory() bus.NodeGPUs {
	emulated := m.b.device != "cuda"
	return bus.NodeGPUs{
		Resource: gpushare.Resource,
		Emulated: emulated,
		Computes: emulated,
		GPUs:     []bus.GPU{{UUID: theGPU, Model: m.b.device, Memory: 24 << 10, Healthy: true}},
	}
}

func (m *machine) put(key string, value []byte) {
	_, err := m.bus.Session().Put(context.Background(), key, value, bus.Persistent)
	require.NoError(m.b.t, err)
}

func encode[T any, R bus.Record[T]](t *testing.T, record T) []byte {
	value, err := bus.Encode[T, R](record)
	require.NoError(t, err)
	return value
}

// slot creates the folder of a job's slot and returns it.
func (m *machine) slot(name string) string {
	folder := filepath.Join(m.state, gpushare.SlotsDir, "slot-"+name)
	require.NoError(m.b.t, os.MkdirAll(folder, 0o755))
	return folder
}
